//! Makes `shims.h` from a header folder: for each interface that the double implements, a class template that
//! overrides every pure virtual method the headers declare.
//!
//! Why generated: between TensorRT 8.5 and 11 methods come, go and change their parameters, and a class that misses
//! one pure virtual cannot be made. The generated classes have exactly the methods of the headers at hand; each one
//! reports its call (name and arguments) to `core.h` and hands on to the hand-written object, where that has a method
//! of this name which accepts these arguments, and to a bag of properties otherwise. So the hand-written part is the
//! same for all eras.
//!
//! The input is preprocessed text (`c++ -E -P`), so comments and macros are gone.

use std::fmt::Write as _;

/// Interfaces of libnvinfer that the double implements: class in the headers, namespace, name in the call log.
pub(super) const INFER: &[(&str, &str, &str)] = &[
    ("VRuntime", "nvinfer1::apiv", "IRuntime"),
    ("VCudaEngine", "nvinfer1::apiv", "ICudaEngine"),
    ("VExecutionContext", "nvinfer1::apiv", "IExecutionContext"),
    ("VEngineInspector", "nvinfer1::apiv", "IEngineInspector"),
    ("VHostMemory", "nvinfer1::apiv", "IHostMemory"),
    ("VBuilder", "nvinfer1::apiv", "IBuilder"),
    ("VBuilderConfig", "nvinfer1::apiv", "IBuilderConfig"),
    ("VNetworkDefinition", "nvinfer1::apiv", "INetworkDefinition"),
    ("VTensor", "nvinfer1::apiv", "ITensor"),
    ("VLayer", "nvinfer1::apiv", "ILayer"),
    ("VOptimizationProfile", "nvinfer1::apiv", "IOptimizationProfile"),
    ("VTimingCache", "nvinfer1::apiv", "ITimingCache"),
    ("VSerializationConfig", "nvinfer1::apiv", "ISerializationConfig"),
    ("VRuntimeConfig", "nvinfer1::apiv", "IRuntimeConfig"),
    ("VRuntimeCache", "nvinfer1::apiv", "IRuntimeCache"),
    ("VRefitter", "nvinfer1::apiv", "IRefitter"),
    ("IPluginRegistry", "nvinfer1", "IPluginRegistry"),
];

/// Interfaces of the ONNX parser that the double implements.
pub(super) const PARSER: &[(&str, &str, &str)] = &[
    ("IParser", "nvonnxparser", "IParser"),
    ("IParserError", "nvonnxparser", "IParserError"),
    ("IParserRefitter", "nvonnxparser", "IParserRefitter"),
];

/// One pure virtual method.
struct Method {
    returns: String,
    name: String,
    params: Vec<String>,
    /// What follows the parameters: `const`, `noexcept`, both or nothing.
    suffix: String,
}

/// The text of `shims.h`; interfaces that the headers do not have are left out (`DOUBLE_HAS_X` is then not defined).
pub(super) fn generate(preprocessed: &str, interfaces: &[(&str, &str, &str)]) -> Result<String, String> {
    let mut out = String::from("// Made by shims.rs from the headers at hand. Do not edit.\n#pragma once\n");
    let classes: Vec<_> = interfaces
        .iter()
        .filter_map(|(class, space, shown)| {
            methods_of(preprocessed, class).map(|m| (*class, *space, *shown, m))
        })
        .collect();
    let mut names: Vec<&str> = classes
        .iter()
        .flat_map(|c| c.3.iter().map(|m| m.name.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    out.push_str("namespace dbl\n{\n");
    for name in names {
        let _ = writeln!(
            out,
            "template <class I, class... A> using Try_{name} = decltype(std::declval<I&>().{name}(std::declval<A>()...));"
        );
    }
    out.push_str("} // namespace dbl\n");
    for (class, space, shown, methods) in &classes {
        if methods.is_empty() {
            return Err(format!(
                "class {class} of the headers has no pure virtual method: the reader is at fault"
            ));
        }
        shim(&mut out, class, space, shown, methods);
    }
    Ok(out)
}

fn shim(out: &mut String, class: &str, space: &str, shown: &str, methods: &[Method]) {
    let _ = writeln!(
        out,
        "\n#define DOUBLE_HAS_{class} 1\nnamespace {space}\n{{\n\
         template <class Impl> class {class}Shim final : public {class}\n{{\npublic:\n\
         \x20   mutable Impl impl;\n\
         \x20   static constexpr char const* kNAME = \"{shown}\";\n\
         \x20   template <class... A> explicit {class}Shim(A&&... a) : impl(std::forward<A>(a)...) {{}}\n\
         \x20   static void* operator new(std::size_t size) {{ return ::operator new(size); }}\n\
         \x20   static void operator delete(void* p, std::size_t size) {{ ::dbl::bury(p, size); }}"
    );
    let mut coverage = String::new();
    for m in methods {
        let params: Vec<String> = m
            .params
            .iter()
            .enumerate()
            .map(|(i, t)| format!("{t} p{i}"))
            .collect();
        let args: Vec<String> = (0..params.len()).map(|i| format!("p{i}")).collect();
        let list = args.join(", ");
        let shown_args: Vec<String> = args.iter().map(|a| format!("::dbl::arg({a})")).collect();
        let shown_args = shown_args.join(", ");
        let types: String = m.params.iter().map(|t| format!(", {t}")).collect();
        let Method {
            returns,
            name,
            suffix,
            ..
        } = m;
        // The generated text is plain on purpose: a lambda or a template a method triples the time to compile it.
        let by_hand = format!("impl.{name}({list})");
        let property = format!("::dbl::property<{returns}>(method, impl, {{{shown_args}}})");
        let (hand_on, keep) = match (returns.as_str(), returns.ends_with('&')) {
            ("void", _) => (
                format!("            {by_hand};\n"),
                format!("            {property};\n"),
            ),
            (_, refers) => {
                let hand_over = |expression: &str| {
                    let result = if refers {
                        "auto& result"
                    } else {
                        "auto const result"
                    };
                    let cast = if refers {
                        expression.to_owned()
                    } else {
                        format!("static_cast<{returns}>({expression})")
                    };
                    format!(
                        "        {{\n            {result} = {cast};\n            if (ticket.records)\n\
                         \x20               ticket.result(::dbl::arg(result));\n            return result;\n        }}\n"
                    )
                };
                (hand_over(&by_hand), hand_over(&property))
            }
        };
        let failure = if returns == "void" {
            "return".to_owned()
        } else {
            format!("return ::dbl::number<{returns}>(ticket.value)")
        };
        let _ = writeln!(
            out,
            "    {returns} {name}({}) {suffix} override\n    {{\n\
             \x20       static constexpr ::dbl::Method method{{\"{shown}\", \"{name}\"}};\n\
             \x20       ::dbl::Ticket ticket;\n\
             \x20       if (::dbl::observed())\n\
             \x20       {{\n\
             \x20           ticket.enter(method, &impl, {{{shown_args}}});\n\
             \x20           if (ticket.fails)\n\
             \x20               {failure};\n\
             \x20       }}\n\
             \x20       if constexpr (::dbl::has<::dbl::Try_{name}, Impl{types}>)\n\
             {hand_on}\
             \x20       else\n\
             {keep}\
             \x20   }}",
            params.join(", ")
        );
        let _ = writeln!(
            coverage,
            "        f(\"{shown}::{name}\", ::dbl::has<::dbl::Try_{name}, Impl{types}>);"
        );
    }
    let _ = writeln!(
        out,
        "    /// Tells f each method's name and whether it is written by hand.\n\
         \x20   template <class F> static void coverage(F&& f)\n    {{\n{coverage}    }}\n}};\n}} // namespace {space}"
    );
}

/// The pure virtual methods of a class, those of its bases first; `None` if the headers do not define the class.
fn methods_of(text: &str, class: &str) -> Option<Vec<Method>> {
    let (bases, body) = class_body(text, class)?;
    let mut methods = Vec::new();
    for base in bases.split(',') {
        let base = base
            .split_whitespace()
            .last()
            .unwrap_or("")
            .rsplit("::")
            .next()
            .unwrap_or("");
        if !base.is_empty() && base != "VRoot" {
            methods.extend(methods_of(text, base).unwrap_or_default());
        }
    }
    methods.extend(declarations(body).filter_map(|d| method(&d)));
    Some(methods)
}

/// The base list and the body of `class X : bases { body }`; forward declarations are passed over.
fn class_body<'a>(text: &'a str, class: &str) -> Option<(&'a str, &'a str)> {
    let head = format!("class {class}");
    let mut from = 0;
    while let Some(at) = text[from..].find(&head) {
        let start = from + at + head.len();
        from = start;
        let rest = &text[start..];
        let Some(next) = rest.find(|c: char| !c.is_whitespace()) else {
            continue;
        };
        if !matches!(rest.as_bytes()[next], b':' | b'{')
            || (next == 0 && rest.starts_with(|c: char| c.is_alphanumeric()))
        {
            continue;
        }
        let open = rest.find('{')?;
        let bases = rest[..open].trim().trim_start_matches(':');
        let mut depth = 0usize;
        for (i, c) in rest[open..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                return Some((bases, &rest[open + 1..open + i]));
            }
        }
    }
    None
}

/// The statements at the top level of a class body that start at `virtual`, without bodies and `;`.
fn declarations(body: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let (mut depth, mut statement) = (0usize, String::new());
    for c in body.chars() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    statement.clear();
                }
            }
            ';' if depth == 0 => found.push(std::mem::take(&mut statement)),
            _ if depth == 0 => statement.push(if c.is_whitespace() { ' ' } else { c }),
            _ => {}
        }
    }
    found.into_iter().filter_map(|s| {
        s.find("virtual ")
            .map(|at| s[at + "virtual ".len()..].trim().to_owned())
    })
}

/// `RET name(params) const noexcept = 0` taken apart; `None` for what is not pure.
fn method(declaration: &str) -> Option<Method> {
    let declared = declaration
        .strip_suffix('0')?
        .trim_end()
        .strip_suffix('=')?
        .trim_end();
    let close = declared.rfind(')')?;
    let suffix = declared[close + 1..].trim().to_owned();
    let open = matching_open(declared, close)?;
    let head = declared[..open].trim_end();
    let name_at = head
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |i| i + 1);
    let (returns, name) = (head[..name_at].trim(), &head[name_at..]);
    if returns.is_empty() || returns.ends_with('~') {
        return None;
    }
    let inside = declared[open + 1..close].trim();
    let params = if inside.is_empty() || inside == "void" {
        Vec::new()
    } else {
        split_top(inside).map(param_type).collect()
    };
    Some(Method {
        returns: returns.to_owned(),
        name: name.to_owned(),
        params,
        suffix,
    })
}

fn matching_open(text: &str, close: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in text[..=close].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits at the commas that are in no bracket.
fn split_top(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// A parameter's type: default value and name taken away. A trailing word is a name if a type stands before it.
fn param_type(param: &str) -> String {
    let param = param.split('=').next().unwrap_or(param).trim();
    let name_at = param
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .map_or(0, |i| i + 1);
    let (before, last) = param.split_at(name_at);
    let has_type = before
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .any(|w| {
            !w.is_empty() && !matches!(w, "const" | "volatile" | "struct" | "enum" | "class" | "unsigned")
        });
    let is_name = has_type && !last.is_empty() && !matches!(last, "const" | "int" | "long" | "char");
    (if is_name { before } else { param }).trim().to_owned()
}
