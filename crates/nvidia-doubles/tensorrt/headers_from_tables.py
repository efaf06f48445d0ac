#!/usr/bin/env python3
"""Writes a TensorRT header folder from a table of the shared data: headers_from_tables.py TABLE.json FOLDER

These headers are NOT NVIDIA's. They declare what the table says: enums, structs, the apiv::V... classes with their
virtual methods in slot order, the public classes around them (vtable pointer and mImpl, inline methods that hand on),
the interfaces that applications implement, and the C entry points. So the double of a version whose real headers are
not at hand can be compiled, and its vtables come from a C++ compiler; but a mistake of the table is then a mistake of
the double as well. Real headers, given in JETLAG_TENSORRT_HEADERS, are the better witness.
"""

import json
import os
import re
import sys

# Default values that callers of the real headers rely on: parameter -> value.
DEFAULTS = {"pluginFactory": "nullptr", "model_path": "nullptr", "modelPath": "nullptr"}


def cpp_type(text):
    """The table's notation of a type as C++."""
    text = text.replace("(by value)", "").strip()
    if text.endswith("*/*ref*/"):
        return cpp_type(text[: -len("*/*ref*/")]) + "&"
    if text in ("void *[]", "char *[]"):  # arrays of calibrators; the names are constant text
        return "void**" if text[0] == "v" else "char const**"
    return re.sub(r"enum ([\w:]+):\w+", r"\1", text)


class Table:
    def __init__(self, table):
        self.t = table
        self.classes = table["vtables"]
        self.wrappers = table["wrappers"]

    def is_parser(self, name):
        return self.classes[name]["qualified"].startswith("nvonnxparser::")

    def parameters(self, slot, defaults=False):
        out = []
        for i, (kind, name) in enumerate(slot["params"]):
            value = ""
            if defaults and name in DEFAULTS:
                value = " = " + DEFAULTS[name]
            if defaults and slot["name"] == "createExecutionContext":
                value = " = ExecutionContextAllocationStrategy::kSTATIC"
            out.append(f"{cpp_type(kind)} p{i}{value}")
        return ", ".join(out)

    def suffix(self, slot):
        return ("const " if "const" in slot.get("flags", []) else "") + "noexcept"

    def virtuals(self, name, info):
        """The virtual methods of a class in slot order, as declarations."""
        out = []
        for slot in info["slots"]:
            flags = slot.get("flags", [])
            if slot["name"].startswith("~complete"):
                section = "protected" if "protected" in flags else "public"
                out.append(f"{section}:\n    virtual ~{name}() noexcept = default;\npublic:")
            elif not slot["name"].startswith("~"):
                body = self.body(slot, info) if "has_default_body" in flags else "= 0;"
                out.append(
                    f"    virtual {cpp_type(slot['ret'])} {slot['name']}({self.parameters(slot, self.is_parser(name))})"
                    f" {self.suffix(slot)} {body}")
        return "\n".join(out)

    def body(self, slot, info):
        """What an application that does not override a method gets."""
        if slot["name"] == "getInterfaceInfo":
            kind = info.get("interface_info")
            return '{ return {"%s", %d, %d}; }' % (kind["kind"], kind["major"], kind["minor"]) if kind else "= 0;"
        unused = " ".join(f"static_cast<void>(p{i});" for i in range(len(slot["params"])))
        if slot["name"] == "reallocateOutputAsync":
            return "{ static_cast<void>(p4); return reallocateOutput(p0, p1, p2, p3); }"
        result = "" if slot["ret"] == "void" else " return {};"
        return "{ " + unused + result + " }"

    def interface(self, name):
        """A class with direct virtual methods."""
        nested = ""
        for enum in self.t["enums"]:
            if enum.startswith(name + "::"):
                nested += "    " + self.enum(enum.split("::")[1], self.t["enums"][enum]) + "\n"
        return f"class {name}\n{{\npublic:\n{nested}{self.virtuals(name, self.classes[name])}\n}};\n"

    def enum(self, name, info):
        values = ", ".join(f"{k} = {v}" for k, v in info["values"].items())
        return f"enum class {name} : {info['type']} {{ {values} }};"

    def wrapper(self, name):
        """A public class around an apiv::V... class."""
        info = self.wrappers[name]
        slots = [s for s in self.classes["V" + name[1:]]["slots"] if not s["name"].startswith("~") and s["name"] != "getPImpl"]
        # A few methods are virtual in the public class too; they come first, in the order of its vtable.
        order = [v for v in info["vtable"] if not v.startswith("~")]
        slots.sort(key=lambda s: order.index(s["name"]) if s["name"] in order else len(order))
        lines = []
        for slot in slots:
            ret = cpp_type(slot["ret"])
            args = ", ".join(f"p{i}" for i in range(len(slot["params"])))
            virtual = "virtual " if slot["name"] in order else ""
            lines.append(f"    {virtual}{ret} {slot['name']}({self.parameters(slot, True)}) {self.suffix(slot)}"
                         f" {{ return {info['member']}->{slot['name']}({args}); }}")
        return (f"class {name} : public INoCopy\n{{\n{info['destructor']}:\n    virtual ~{name}() noexcept = default;\n"
                "public:\n" + "\n".join(lines) + f"\nprotected:\n    apiv::V{name[1:]}* {info['member']};\n}};\n")

    def names(self, parser):
        """All identifiers in the signatures of one half."""
        text = ""
        for name, info in self.classes.items():
            if self.is_parser(name) == parser:
                for slot in info["slots"]:
                    text += " ".join([slot["ret"]] + [p[0] for p in slot["params"]]) + "\n"
        return set(re.findall(r"\b(I[A-Z]\w+)\b", text)), set(re.findall(r"enum (\w+):", text))

    def entry(self, name):
        info = self.t["c_entry_points"][name]
        params = ", ".join(f"{cpp_type(k)} {n}" for k, n in info["params"])
        ret = cpp_type(info["ret"])
        for known in ("IPluginRegistry", "ILogger", "EngineCapability"):
            ret = re.sub(rf"\b{known}\b", f"nvinfer1::{known}", ret)
            params = re.sub(rf"\b{known}\b", f"nvinfer1::{known}", params)
        return f'extern "C" TENSORRTAPI {ret} {name}({params}) noexcept;\n'

    def runtime_header(self):
        t = self.t
        used, used_enums = self.names(False)
        layers = sorted(n for n in used if n.endswith("Layer") and n != "ILayer")
        app = [n for n in self.classes
               if n.startswith("I") and n not in self.wrappers and n != "INoCopy" and not self.is_parser(n)]
        enums = {k: v for k, v in t["enums"].items() if "::" not in k}
        dims = t["structs"]["Dims"]["type"].split("::")[-1]
        element = "int64_t" if dims == "Dims64" else "int32_t"
        out = [f"// Made from the table of {t['family']} {t['version']} by headers_from_tables.py. Not NVIDIA's.\n#pragma once\n",
               '#include "NvInferVersion.h"\n#include "cuda_runtime_api.h"\n#include <cstddef>\n#include <cstdint>\n'
               "#include <utility>\n#include <vector>\n",
               "#ifdef TENSORRT_BUILD_LIB\n#define TENSORRTAPI __attribute__((visibility(\"default\")))\n#else\n"
               "#define TENSORRTAPI\n#endif\n"
               f"#define NV_TENSORRT_VERSION {t['NV_TENSORRT_VERSION']}\n",
               "namespace nvinfer1\n{\nusing AsciiChar = char;\n"]
        out += ["class %s;" % n for n in sorted(used | set(self.wrappers) | set(app) | {"INoCopy"})]
        out += [self.enum(k, v) for k, v in enums.items()]
        out += ["enum class %s : int32_t;" % n for n in sorted(used_enums - set(enums) - {"ILogger"})]
        out.append(f"class {dims}\n{{\npublic:\n    static constexpr int32_t MAX_DIMS{{8}};\n    int32_t nbDims;\n"
                   f"    {element} d[MAX_DIMS];\n}};\nusing Dims = {dims};\nclass DimsHW : public Dims {{}};\n"
                   "class Weights\n{\npublic:\n    DataType type;\n    void const* values;\n    int64_t count;\n};")
        if "InterfaceInfo" in t["structs"]:
            out.append("class InterfaceInfo\n{\npublic:\n    char const* kind;\n    int32_t major;\n    int32_t minor;\n};")
        for plain in ("TimingCacheKey", "TimingCacheValue"):
            if plain in json.dumps(t["vtables"]):
                out.append(f"struct {plain}\n{{\n    uint8_t data[16];\n}};")
        out.append("class INoCopy\n{\nprotected:\n    INoCopy() = default;\n    virtual ~INoCopy() = default;\n"
                   "    INoCopy(INoCopy const&) = delete;\n    INoCopy& operator=(INoCopy const&) = delete;\n};")
        out += [self.interface(n) for n in app]
        out.append("namespace apiv\n{\nclass VRoot\n{\npublic:\n    virtual ~VRoot() noexcept = default;\n};")
        for name, info in self.classes.items():
            if name.startswith("V") and name != "VRoot":
                rest = {"slots": [s for s in info["slots"] if not s["name"].startswith("~")]}
                out.append(f"class {name} : public VRoot\n{{\npublic:\n{self.virtuals(name, rest)}\n}};")
        out.append("} // namespace apiv")
        out += [self.wrapper(n) for n in self.wrappers]
        out += [f"class {n} : public ILayer\n{{\nprotected:\n    virtual ~{n}() noexcept = default;\n    void* mImpl;\n}};" for n in layers]
        out.append("} // namespace nvinfer1\n")
        out += [self.entry(n) for n in t["c_entry_points"] if "Onnx" not in n and "Safe" not in n and "safe" not in str(t["c_entry_points"][n])]
        out.append("namespace nvinfer1\n{\nnamespace\n{\n"
                   "inline IBuilder* createInferBuilder(ILogger& logger) noexcept\n{\n"
                   "    return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));\n}\n"
                   "inline IRuntime* createInferRuntime(ILogger& logger) noexcept\n{\n"
                   "    return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));\n}\n"
                   "} // namespace\n} // namespace nvinfer1\n")
        return "\n".join(out)

    def parser_header(self):
        t = self.t
        used, _ = self.names(True)
        own = [n for n in self.classes if self.is_parser(n)]
        missing = [n for n in used if n.startswith("IRefitterObserver")]
        out = [f"// Made from the table of {t['family']} {t['version']} by headers_from_tables.py. Not NVIDIA's.\n#pragma once\n",
               f'#include "NvInfer.h"\n#define NV_ONNX_PARSER_VERSION {t["NV_ONNX_PARSER_VERSION"]}\nnamespace nvonnxparser\n{{']
        out += [f"class {n};" for n in own + missing]
        out += [f"using nvinfer1::{n};" for n in sorted(used - set(own) - set(missing))]
        out += [self.enum(k.split("::")[1], v) for k, v in t["enums"].items() if k.startswith("nvonnxparser::")]
        # The error class first: the parser's methods name it.
        out += [self.interface(n) for n in sorted(own, key=lambda n: n != "IParserError")]
        out.append("} // namespace nvonnxparser\n")
        out += [self.entry(n) for n in t["c_entry_points"] if "Onnx" in n]
        out.append("namespace nvonnxparser\n{\nnamespace\n{\n"
                   "inline IParser* createParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger) noexcept\n{\n"
                   "    return static_cast<IParser*>(createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));\n}\n"
                   "} // namespace\n} // namespace nvonnxparser\n")
        return "\n".join(out)

    def version_header(self):
        parts = (self.t["version"].split(".") + ["0", "0"])[:4]
        names = ("MAJOR", "MINOR", "PATCH", "BUILD")
        out = ["// Made by headers_from_tables.py. Not NVIDIA's.", "#pragma once"]
        for name, part in zip(names, parts):
            number = re.match(r"\d+", part).group()
            out.append(f"#define NV_TENSORRT_{name} {number}")
            if self.t["family"] == "rtx":
                out.append(f"#define TRT_{name}_RTX {number}")
        return "\n".join(out) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = Table(json.load(file))
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, text in {
        "NvInferVersion.h": table.version_header(),
        "NvInferRuntime.h": table.runtime_header(),
        "NvInfer.h": '// Made by headers_from_tables.py. Not NVIDIA\'s.\n#pragma once\n#include "NvInferRuntime.h"\n',
        "NvOnnxParser.h": table.parser_header(),
    }.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)


main()
