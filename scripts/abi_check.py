#!/usr/bin/env python3
"""Holds the tables of crates/tensorrt-dyn against what clang lays out from NVIDIA's own headers.

  scripts/abi_check.py FOLDER...            folders with a release's NvInfer.h (and NvOnnxParser.h)
  scripts/abi_check.py --target aarch64-linux-gnu FOLDER...

For a new release of TensorRT, before its number goes into `Era::newest_known`. NVIDIA publishes the headers: the folder
`include` of a release's tag of github.com/NVIDIA/TensorRT, which holds NvOnnxParser.h from 10.14 on; before, that file is
in the commit of onnx-tensorrt that the tag names as the submodule parsers/onnx. The crate `trtx-sys` brings the headers of
TensorRT-RTX.

Of each folder: every slot of the tables by name and signature, against clang's dump of the class's vtable; that no further
method has a table's name and signature; every enum value; the size of Dims; where a public object keeps its implementation,
and the slot of its destructor. Needs clang++ (Debian: clang; for aarch64 also libstdc++-12-dev-arm64-cross and
libc6-dev-arm64-cross) and cargo. Nothing is executed of what is compiled, so any target can be asked.

Ends with 0 where all agree, 1 at a difference, 2 where headers, clang or cargo are missing or cannot be used.
"""
import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# CUDA's header brings these two names; their layout is nobody's business here.
CUDA = "#pragma once\ntypedef struct CUevent_st *cudaEvent_t;\ntypedef struct CUstream_st *cudaStream_t;\n"

# What a C++ type is in the crate's tables, decided by the compiler: the written types of a dump hide behind names.
# The numbers index TYPES.
TYPES = ["?", "()", "bool", "i32", "u32", "i64", "u64", "f32", "Dims32", "Dims64", "*const c_char", "*mut *const c_char",
         "*const i32", "*const i64", "*mut i32", "*mut u64", "*const Dims32", "*const Dims64", "Stream", "Event",
         "*mut Stream", "*const c_void", "*mut c_void", "f64", "i8", "u8", "u16", "i16"]
CLASSIFY = """
#include <type_traits>
namespace abi_check {
template <class T> constexpr int plain() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_enum_v<U>) return plain<std::underlying_type_t<U>>();
    else if constexpr (std::is_void_v<U>) return 1;
    else if constexpr (std::is_same_v<U, bool>) return 2;
    else if constexpr (std::is_same_v<U, float>) return 7;
    else if constexpr (std::is_same_v<U, double>) return 23;
    else if constexpr (std::is_integral_v<U>)
        return sizeof(U) == 1 ? (std::is_signed_v<U> ? 24 : 25) : sizeof(U) == 2 ? (std::is_signed_v<U> ? 27 : 26)
             : sizeof(U) == 4 ? (std::is_signed_v<U> ? 3 : 4) : (std::is_signed_v<U> ? 5 : 6);
    else if constexpr (std::is_same_v<U, nvinfer1::Dims>) return sizeof(U::d[0]) == 4 ? 8 : 9;
    else return 0;
}
template <class T> constexpr int kind() {
    if constexpr (std::is_reference_v<T>) return kind<std::remove_reference_t<T>*>();
    else if constexpr (std::is_pointer_v<T>) {
        using P = std::remove_pointer_t<T>;
        using U = std::remove_cv_t<P>;
        constexpr bool constant = std::is_const_v<P>;
        if constexpr (std::is_same_v<U, CUstream_st>) return 18;
        else if constexpr (std::is_same_v<U, CUevent_st>) return 19;
        else if constexpr (std::is_same_v<U, CUstream_st*>) return constant ? 21 : 20;
        else if constexpr (std::is_same_v<U, char>) return constant ? 10 : 22;
        else if constexpr (std::is_same_v<U, char const*>) return constant ? 21 : 11;
        else if constexpr (std::is_void_v<U> || std::is_class_v<U> || std::is_pointer_v<U>) {
            if constexpr (std::is_same_v<U, nvinfer1::Dims>)
                return constant ? (sizeof(U::d[0]) == 4 ? 16 : 17) : 22;
            else return constant ? 21 : 22;
        } else {
            constexpr int inner = plain<U>();
            if (constant) return inner == 3 ? 12 : inner == 5 ? 13 : 21;
            return inner == 3 ? 14 : inner == 6 ? 15 : 22;
        }
    } else return plain<T>();
}
constexpr long long none = -(1LL << 62);
}
"""


class CannotCheck(Exception):
    """Something that the check needs is missing."""


def run(command, what):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError as error:
        raise CannotCheck(f"{command[0]} cannot be run ({error}): {what}") from error
    return done


@functools.cache
def tables_program(given):
    """The crate's example that prints its tables, built once."""
    if given:
        return given
    command = ["cargo", "build", "--quiet", "--package", "tensorrt-dyn", "--example", "abi_tables",
               "--message-format", "json"]
    done = run(command, "it builds the program that prints the tables")
    found = re.findall(r'"executable":"([^"]*abi_tables[^"]*)"', done.stdout)
    if done.returncode or not found:
        raise CannotCheck(f"the example abi_tables does not build:\n{done.stderr}")
    return found[-1]


class Headers:
    """A release's headers, compiled as text, for one target."""

    def __init__(self, folder, clang, target, scratch):
        self.folder = Path(folder).resolve()
        if not (self.folder / "NvInfer.h").is_file():
            raise CannotCheck(f"{folder} has no NvInfer.h")
        self.has_parser = (self.folder / "NvOnnxParser.h").is_file()
        self.scratch = Path(scratch)
        (self.scratch / "cuda_runtime_api.h").write_text(CUDA)
        self.clang = [clang, "-std=c++20", "-w", "-DTENSORRT_BUILD_LIB=1",
                      "-isystem", str(self.scratch), "-isystem", str(self.folder)]
        if target:
            self.clang.insert(1, f"--target={target}")
        self.includes = '#include "NvInfer.h"\n' + ('#include "NvOnnxParser.h"\n' if self.has_parser else "")
        words = "NV_TENSORRT_MAJOR NV_TENSORRT_MINOR NV_TENSORRT_PATCH TRT_MAJOR_RTX"
        self.text = self.compile(f"{self.includes}abi_check_version {words};\n", ["-E", "-P"])
        found = re.search(r"abi_check_version (\d+) (\d+) (\d+) (\w+);", self.text)
        if not found:
            raise CannotCheck(f"{folder}: its version is not understood")
        self.rtx = found[4] != "TRT_MAJOR_RTX"
        self.version = tuple(int(found[n]) for n in (1, 2, 3))
        major, minor, patch = self.version
        scale = 10_000 if self.rtx or major >= 10 else 1_000
        self.number = major * scale + minor * 100 + patch

    def name(self):
        return ("RTX " if self.rtx else "") + ".".join(map(str, self.version))

    def compile(self, source, arguments):
        file = self.scratch / "check.cpp"
        file.write_text(source)
        done = run([*self.clang, *arguments, str(file)], "install clang (Debian: apt-get install clang)")
        if done.returncode:
            raise CannotCheck(f"clang++ does not compile the headers of {self.folder}:\n{done.stderr[:3000]}")
        return done.stdout

    def declares(self, kind, name):
        return re.search(rf"\b{kind} {name}\b[^;{{]*\{{", self.text) is not None

    def qualified(self, name):
        """A class or enum of the tables as C++ names it; None where this release does not declare it."""
        kind = "class" if re.match(r"[VI][A-Z]", name) else r"enum class"
        last = name.split("::")[-1]
        if not self.declares(kind, last):
            return None
        if name.startswith("nvonnxparser::") or name in ("IParser", "IParserError"):
            return f"nvonnxparser::{last}" if self.has_parser else None
        return f"nvinfer1::apiv::{last}" if name.startswith("V") else f"nvinfer1::{last}"

    def vtables(self, classes):
        """Of each class the methods in slot order: name, written result, written parameters."""
        lines = [self.includes]
        for n, name in enumerate(classes):
            lines.append(f"struct AbiCheck{n} : {name} {{ AbiCheck{n}(); }};\nAbiCheck{n}::AbiCheck{n}() {{}}")
        dump = self.compile("\n".join(lines), ["-S", "-emit-llvm", "-o", os.devnull, "-Xclang", "-fdump-vtable-layouts"])
        found = {}
        for block in re.split(r"(?=^Vtable for ')", dump, flags=re.M):
            head = re.match(r"Vtable for 'AbiCheck(\d+)'", block)
            if not head:
                continue
            slots = []
            # A blank line ends it; what follows are indices of the derived class alone.
            for line in block.split("\n\n")[0].splitlines():
                entry = re.match(r"\s*\d+ \| (.*)$", line)
                if not entry or re.match(r"offset_to_top|.* RTTI$", entry[1]):
                    continue
                slots.append(self.method(entry[1]))
            found[classes[int(head[1])]] = slots
        return found

    @staticmethod
    def method(text):
        if "~" in text:
            return ("~complete(D1)" if "[complete]" in text else "~deleting(D0)", "void", [])
        # RESULT SCOPES::NAME(PARAMETERS) const [pure]; a result may end in * or & without a blank.
        found = re.match(r"(.*?[ *&])((?:\w+::)*)(\w+)\((.*)\)[^()]*$", text)
        if not found:
            raise CannotCheck(f"clang's line is not understood: {text}")
        parameters, depth, last = [], 0, ""
        for character in found[4]:
            depth += character in "<(["
            depth -= character in ">)]"
            if character == "," and depth == 0:
                parameters.append(last.strip())
                last = ""
            else:
                last += character
        return (found[3], found[1].strip(), parameters + ([last.strip()] if last.strip() else []))

    def facts(self, types, enums):
        """What the written types are in the tables' words, and the values of enumerators (None where there is none)."""
        lines = [self.includes, CLASSIFY]
        for n, written in enumerate(types):
            lines.append(f"extern \"C\" const int abi_type_{n} = abi_check::kind<{written}>();")
        for n, (enum, name) in enumerate(enums):
            lines.append(f"template <class E> constexpr long long abi_get_{n}() {{ if constexpr (requires {{ E::{name}; }}) "
                         f"return static_cast<long long>(E::{name}); else return abi_check::none; }}\n"
                         f"extern \"C\" const long long abi_value_{n} = abi_get_{n}<{enum}>();")
        lines.append("extern \"C\" const int abi_dims = sizeof(nvinfer1::Dims);")
        text = self.compile("\n".join(lines), ["-S", "-emit-llvm", "-o", "-"])
        found = {name: int(value) for name, value in
                 re.findall(r"@(abi_\w+) = [^\n]*constant i\d+ (-?\d+)", text)}
        kinds = {written: TYPES[found[f"abi_type_{n}"]] for n, written in enumerate(types)}
        values = {}
        for n, (enum, name) in enumerate(enums):
            value = found[f"abi_value_{n}"]
            values[(enum, name)] = None if value == -(1 << 62) else value
        return kinds, values, found["abi_dims"]

    def wrappers(self):
        """Of the public classes that keep an implementation: its offset and the slots of the own vtable."""
        names = [n for n in re.findall(r"\bclass (I[A-Z]\w+) : public INoCopy\b", self.text)
                 if re.search(rf"apiv::V{n[1:]}\s*\*\s*\w+;", self.text)]
        lines = [self.includes]
        for n, name in enumerate(names):
            lines.append(f"struct AbiCheck{n} : nvinfer1::{name} {{ AbiCheck{n}(); }};\nAbiCheck{n}::AbiCheck{n}() {{}}")
        dump = self.compile("\n".join(lines), ["-S", "-emit-llvm", "-o", os.devnull, "-Xclang", "-fdump-vtable-layouts",
                                               "-Xclang", "-fdump-record-layouts"])
        found = {}
        for n, name in enumerate(names):
            layout = re.search(rf"^\s*0 \| struct AbiCheck{n}\n(?:.*\n)*?\s*(\d+) \|\s+\S.*\* (?:mImpl|mLayer)$", dump, re.M)
            vtable = re.search(rf"^Vtable for 'AbiCheck{n}'.*\n((?:.+\n)*)", dump, re.M)
            slots = [line for line in re.findall(r"^\s*\d+ \| (.*)$", vtable[1], re.M)
                     if not re.match(r"offset_to_top|.* RTTI$", line)] if vtable else []
            deleting = next((k for k, line in enumerate(slots) if "[deleting]" in line), None)
            found[name] = (int(layout[1]) if layout else None, deleting)
        return found


def flat(signature):
    return re.sub(r"\s", "", signature)


def check(headers, program):
    """Compares one release; returns the counts and the differences as sentences."""
    done = run([program, str(headers.number)], "it prints the tables")
    if done.returncode == 3:
        return None, done.stderr.strip()
    if done.returncode:
        raise CannotCheck(done.stderr)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    slots = [(cls, name, signature, index) for _, cls, name, signature, index in (r for r in rows if r[0] == "slot")]
    values = [(cls, name, value) for _, cls, name, value in (r for r in rows if r[0] == "value")]
    parser_left_out = not headers.has_parser
    if parser_left_out:
        parsers = ("nvonnxparser::", "IParser")
        slots = [row for row in slots if not row[0].startswith(parsers)]
        values = [row for row in values if not row[0].startswith(parsers)]

    classes = {cls: headers.qualified(cls) for cls, *_ in slots}
    vtables = headers.vtables([name for name in dict.fromkeys(classes.values()) if name])
    named = {(cls, name) for cls, name, *_ in slots}
    methods = {}
    for cls, qualified in classes.items():
        for index, (name, result, parameters) in enumerate(vtables.get(qualified, [])):
            if (cls, name) in named:
                methods.setdefault((cls, name), []).append((index, result, parameters))
    written = sorted({t for found in methods.values() for _, result, parameters in found for t in [result, *parameters]})
    enums = {cls: headers.qualified(cls) for cls, *_ in values}
    wanted = [(enums[cls], name) for cls, name, _ in values if enums[cls]]
    kinds, numbers, dims = headers.facts(written, wanted)

    wrong, compared = [], 0
    reached = set()
    for cls, name, signature, index in slots:
        theirs = "-"
        for slot, result, parameters in methods.get((cls, name), []):
            arrow = "" if kinds[result] == "()" else f" -> {kinds[result]}"
            text = f"fn({', '.join(kinds[p] for p in parameters)}){arrow}"
            if flat(text) == flat(signature):
                theirs = str(slot)
                reached.add((cls, name, slot))
        compared += 1
        if theirs != index:
            wrong.append(f"{cls}::{name} {signature}: slot {index} in the table, {theirs} in the headers")
    spare = 0
    for (cls, name), found in methods.items():
        for slot, result, parameters in found:
            spare += (cls, name, slot) not in reached
    for cls, name, value in values:
        theirs = numbers.get((enums[cls], name))
        theirs = "-" if theirs is None else str(theirs)
        if theirs != value:
            wrong.append(f"{cls}::{name}: {value} in the table, {theirs} in the headers")
    size = next(int(row[2]) for row in rows if row[0] == "size")
    if size != dims:
        wrong.append(f"Dims: {size} bytes in the crate, {dims} in the headers")
    offset, destructor = next((int(row[1]), int(row[2])) for row in rows if row[0] == "wrapper")
    wrappers = headers.wrappers()
    if not wrappers:
        wrong.append("no public class that keeps an implementation was found")
    for name, (theirs, deleting) in wrappers.items():
        if (theirs, deleting) != (offset, destructor):
            wrong.append(f"{name}: implementation at byte {offset}, destructor in slot {destructor} in the crate; "
                         f"{theirs} and {deleting} in the headers")
    absent = sum(index == "-" for *_, index in slots) + sum(value == "-" for *_, value in values)
    return (len(slots), len(values), absent, spare, len(wrappers), parser_left_out), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a release's headers")
    parser.add_argument("--target", default="", help="clang's target, as aarch64-linux-gnu [default: this machine's]")
    parser.add_argument("--clang", default=os.environ.get("CLANGXX", "clang++"))
    parser.add_argument("--tables", metavar="PROGRAM", help="the example abi_tables of tensorrt-dyn, where it is built")
    arguments = parser.parse_args()
    # absent: in neither table nor headers; spare: methods of a table's name that no row calls.
    print(f"{'release':<14}{'slots':>6}{'values':>8}{'absent':>8}{'spare':>7}{'objects':>9}  result")
    differences, unusable = 0, 0
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                headers = Headers(folder, arguments.clang, arguments.target, scratch)
                counts, wrong = check(headers, tables_program(arguments.tables))
            except CannotCheck as error:
                print(f"abi_check: {error}", file=sys.stderr)
                unusable += 1
                continue
        if counts is None:
            print(f"{headers.name():<14}{'':>38}  not supported: {wrong}")
            continue
        slots, values, absent, spare, objects, parser_left_out = counts
        result = f"{len(wrong)} wrong" if wrong else "agrees"
        if parser_left_out:
            result += ", without the parser (no NvOnnxParser.h)"
        print(f"{headers.name():<14}{slots:>6}{values:>8}{absent:>8}{spare:>7}{objects:>9}  {result}", flush=True)
        for line in wrong:
            print(f"    {line}")
        differences += len(wrong)
    sys.stdout.flush()
    if differences:
        sys.exit(1)
    sys.exit(2 if unusable else 0)


if __name__ == "__main__":
    try:
        main()
    except CannotCheck as error:
        print(f"abi_check: {error}", file=sys.stderr)
        sys.exit(2)
