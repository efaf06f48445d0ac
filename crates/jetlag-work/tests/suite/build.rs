//! Writes small ONNX files. Weights are said to lie in another file, which nobody reads: only their shapes count.

/// A graph in the making, and the file around it.
#[derive(Clone, Default)]
pub(crate) struct Net {
    fields: Vec<u8>,
    functions: Vec<Vec<u8>>,
    opset: i64,
    count: usize,
}

/// A setting of a node.
pub(crate) enum Set<'a> {
    Int(&'a str, i64),
    Ints(&'a str, &'a [i64]),
    Float(&'a str, f32),
    Text(&'a str, &'a str),
    Graph(&'a str, &'a Net),
    Reference(&'a str, &'a str),
}

/// Element types by their numbers in ONNX.
pub(crate) const FLOAT: i64 = 1;
pub(crate) const INT8: i64 = 3;
pub(crate) const INT32: i64 = 6;
pub(crate) const INT64: i64 = 7;
pub(crate) const BOOL: i64 = 9;

impl Net {
    pub(crate) fn new(opset: i64) -> Net {
        Net {
            opset,
            ..Net::default()
        }
    }

    /// An input with a size for each dimension, or its name: `"4 3 batch"`.
    pub(crate) fn input(&mut self, name: &str, shape: &str) -> &mut Net {
        self.typed_input(name, FLOAT, shape)
    }

    pub(crate) fn typed_input(&mut self, name: &str, element: i64, shape: &str) -> &mut Net {
        bytes(&mut self.fields, 11, &value(name, element, Some(shape)));
        self
    }

    pub(crate) fn input_without_shape(&mut self, name: &str) -> &mut Net {
        bytes(&mut self.fields, 11, &value(name, FLOAT, None));
        self
    }

    pub(crate) fn output(&mut self, name: &str) -> &mut Net {
        bytes(&mut self.fields, 12, &value(name, FLOAT, None));
        self
    }

    /// A shape that the graph declares of a tensor.
    pub(crate) fn declare(&mut self, name: &str, element: i64, shape: &str) -> &mut Net {
        bytes(&mut self.fields, 13, &value(name, element, Some(shape)));
        self
    }

    /// A weight whose content is elsewhere.
    pub(crate) fn weight(&mut self, name: &str, dims: &[i64]) -> &mut Net {
        self.typed_weight(name, FLOAT, dims)
    }

    pub(crate) fn typed_weight(&mut self, name: &str, element: i64, dims: &[i64]) -> &mut Net {
        let mut tensor = tensor(name, element, dims);
        let mut entry = Vec::new();
        bytes(&mut entry, 1, b"location");
        bytes(&mut entry, 2, b"nowhere.bin");
        bytes(&mut tensor, 13, &entry);
        number(&mut tensor, 14, 1);
        bytes(&mut self.fields, 5, &tensor);
        self
    }

    /// A list of whole numbers, which say a shape or axes.
    pub(crate) fn list(&mut self, name: &str, values: &[i64]) -> &mut Net {
        let mut tensor = tensor(name, INT64, &[values.len() as i64]);
        bytes(&mut tensor, 9, &raw(values));
        bytes(&mut self.fields, 5, &tensor);
        self
    }

    pub(crate) fn scalar(&mut self, name: &str, element: i64, value: i64) -> &mut Net {
        let mut tensor = tensor(name, element, &[]);
        match element {
            BOOL => bytes(&mut tensor, 9, &[value as u8]),
            _ => bytes(&mut tensor, 9, &value.to_le_bytes()),
        }
        bytes(&mut self.fields, 5, &tensor);
        self
    }

    pub(crate) fn floats(&mut self, name: &str, values: &[f32]) -> &mut Net {
        let mut tensor = tensor(name, FLOAT, &[values.len() as i64]);
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        bytes(&mut tensor, 9, &raw);
        bytes(&mut self.fields, 5, &tensor);
        self
    }

    /// A weight within the file, of numbers that count up from `first`.
    pub(crate) fn filled(&mut self, name: &str, dims: &[i64], first: f32) -> &mut Net {
        let mut tensor = tensor(name, FLOAT, dims);
        let count = dims.iter().product::<i64>();
        let raw: Vec<u8> = (0..count)
            .flat_map(|at| (first + at as f32).to_le_bytes())
            .collect();
        bytes(&mut tensor, 9, &raw);
        bytes(&mut self.fields, 5, &tensor);
        self
    }

    /// A node; inputs and outputs by name, with blanks between them, `-` for one that is left out.
    pub(crate) fn node(&mut self, operator: &str, inputs: &str, outputs: &str, settings: &[Set]) -> &mut Net {
        self.node_of("", operator, inputs, outputs, settings)
    }

    pub(crate) fn node_of(
        &mut self,
        domain: &str,
        operator: &str,
        inputs: &str,
        outputs: &str,
        settings: &[Set],
    ) -> &mut Net {
        let node = node(
            domain,
            operator,
            &format!("{operator}_{}", self.count),
            inputs,
            outputs,
            settings,
        );
        self.count += 1;
        bytes(&mut self.fields, 1, &node);
        self
    }

    /// A function of the domain `own`, whose nodes are another net's.
    pub(crate) fn function(
        &mut self,
        name: &str,
        inputs: &str,
        outputs: &str,
        attributes: &[&str],
        of: &Net,
    ) -> &mut Net {
        let mut function = Vec::new();
        bytes(&mut function, 1, name.as_bytes());
        for input in inputs.split_whitespace() {
            bytes(&mut function, 4, input.as_bytes());
        }
        for output in outputs.split_whitespace() {
            bytes(&mut function, 5, output.as_bytes());
        }
        for attribute in attributes {
            bytes(&mut function, 6, attribute.as_bytes());
        }
        // A graph's nodes are field 1, a function's 7.
        function.extend(renumbered(&of.fields));
        bytes(&mut function, 9, &opset("", self.opset));
        bytes(&mut function, 10, b"own");
        self.functions.push(function);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut model = Vec::new();
        number(&mut model, 1, 8);
        bytes(&mut model, 7, &self.fields);
        bytes(&mut model, 8, &opset("", self.opset));
        bytes(&mut model, 8, &opset("own", 1));
        for function in &self.functions {
            bytes(&mut model, 25, function);
        }
        model
    }
}

fn renumbered(nodes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < nodes.len() {
        let field = nodes[at] >> 3;
        at += 1;
        let (mut length, mut place) = (0_usize, 0);
        loop {
            let byte = nodes[at];
            at += 1;
            length |= usize::from(byte & 0x7f) << place;
            place += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        if field == 1 {
            bytes(&mut out, 7, &nodes[at..at + length]);
        }
        at += length;
    }
    out
}

fn node(domain: &str, operator: &str, name: &str, inputs: &str, outputs: &str, settings: &[Set]) -> Vec<u8> {
    let mut node = Vec::new();
    let left_out = |name: &str| {
        if name == "-" {
            String::new()
        } else {
            name.to_owned()
        }
    };
    for input in inputs.split_whitespace() {
        bytes(&mut node, 1, left_out(input).as_bytes());
    }
    for output in outputs.split_whitespace() {
        bytes(&mut node, 2, left_out(output).as_bytes());
    }
    bytes(&mut node, 3, name.as_bytes());
    bytes(&mut node, 4, operator.as_bytes());
    for setting in settings {
        let mut attribute = Vec::new();
        match setting {
            Set::Int(name, value) => {
                bytes(&mut attribute, 1, name.as_bytes());
                number(&mut attribute, 3, value.cast_unsigned());
            }
            Set::Ints(name, values) => {
                bytes(&mut attribute, 1, name.as_bytes());
                for value in *values {
                    number(&mut attribute, 8, value.cast_unsigned());
                }
            }
            Set::Float(name, value) => {
                bytes(&mut attribute, 1, name.as_bytes());
                varint(&mut attribute, 2 << 3 | 5);
                attribute.extend(value.to_le_bytes());
            }
            Set::Text(name, value) => {
                bytes(&mut attribute, 1, name.as_bytes());
                bytes(&mut attribute, 4, value.as_bytes());
            }
            Set::Graph(name, net) => {
                bytes(&mut attribute, 1, name.as_bytes());
                bytes(&mut attribute, 6, &net.fields);
            }
            Set::Reference(name, of) => {
                bytes(&mut attribute, 1, name.as_bytes());
                bytes(&mut attribute, 21, of.as_bytes());
            }
        }
        bytes(&mut node, 5, &attribute);
    }
    bytes(&mut node, 7, domain.as_bytes());
    node
}

fn opset(domain: &str, version: i64) -> Vec<u8> {
    let mut set = Vec::new();
    bytes(&mut set, 1, domain.as_bytes());
    number(&mut set, 2, version.cast_unsigned());
    set
}

fn tensor(name: &str, element: i64, dims: &[i64]) -> Vec<u8> {
    let mut tensor = Vec::new();
    for dim in dims {
        number(&mut tensor, 1, dim.cast_unsigned());
    }
    number(&mut tensor, 2, element.cast_unsigned());
    bytes(&mut tensor, 8, name.as_bytes());
    tensor
}

fn raw(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn value(name: &str, element: i64, shape: Option<&str>) -> Vec<u8> {
    let mut tensor_type = Vec::new();
    number(&mut tensor_type, 1, element.cast_unsigned());
    if let Some(shape) = shape {
        let mut dims = Vec::new();
        for word in shape.split_whitespace() {
            let mut dim = Vec::new();
            match word.parse::<i64>() {
                Ok(size) => number(&mut dim, 1, size.cast_unsigned()),
                Err(_) if word == "?" => {}
                Err(_) => bytes(&mut dim, 2, word.as_bytes()),
            }
            bytes(&mut dims, 1, &dim);
        }
        bytes(&mut tensor_type, 2, &dims);
    }
    let mut of_type = Vec::new();
    bytes(&mut of_type, 1, &tensor_type);
    let mut value = Vec::new();
    bytes(&mut value, 1, name.as_bytes());
    bytes(&mut value, 2, &of_type);
    value
}

pub(crate) fn bytes(out: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, content.len() as u64);
    out.extend(content);
}

pub(crate) fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
