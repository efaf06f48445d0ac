//! ONNX's own attention (from operator set 23).

use super::Made;
use crate::call::{Call, Stop, spelled};
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    (call.operator() == "Attention").then(|| attention(call))
}

/// Sizes of an attention.
pub(crate) struct Heads {
    pub(crate) batch: u64,
    pub(crate) heads: u64,
    pub(crate) heads_kv: u64,
    pub(crate) queries: u64,
    /// Keys, with those of the past.
    pub(crate) keys: u64,
    pub(crate) depth: u64,
    pub(crate) depth_out: u64,
    pub(crate) is_flat: bool,
}

/// The sizes of a node of attention.
pub(crate) fn heads(call: &Call) -> Result<Heads, Stop> {
    let (q, k, v) = (call.dims(0, 3)?, call.dims(1, 3)?, call.dims(2, 3)?);
    let count = |name: &str| {
        call.int(name)
            .and_then(|heads| u64::try_from(heads).ok())
            .unwrap_or(0)
    };
    let split = |dims: &[u64], heads: u64| -> Result<[u64; 4], Stop> {
        match *dims {
            [batch, heads, length, depth] => Ok([batch, heads, length, depth]),
            [batch, length, width] if heads > 0 && width % heads == 0 => {
                Ok([batch, heads, length, width / heads])
            }
            _ => Err(Stop::contradiction(format!(
                "{} does not divide into {heads} heads",
                spelled(dims)
            ))),
        }
    };
    let [batch, heads, queries, depth] = split(q, count("q_num_heads"))?;
    let [_, heads_kv, keys, depth_k] = split(k, count("kv_num_heads"))?;
    let [_, _, values, depth_out] = split(v, count("kv_num_heads"))?;
    if depth != depth_k || keys != values || heads_kv == 0 || heads % heads_kv != 0 {
        return Err(Stop::contradiction(format!(
            "queries {}, keys {}, values {}",
            spelled(q),
            spelled(k),
            spelled(v)
        )));
    }
    let past = match call.input(4) {
        Some(_) => call.dims(4, 4)?[2],
        None => 0,
    };
    Ok(Heads {
        batch,
        heads,
        heads_kv,
        queries,
        keys: keys.checked_add(past).ok_or(Stop::Overflow)?,
        depth,
        depth_out,
        is_flat: q.len() == 3,
    })
}

fn attention(call: &Call) -> Result<Vec<Value>, Stop> {
    let h = heads(call)?;
    let element = call.element(0);
    let out = match h.is_flat {
        true => vec![
            h.batch,
            h.queries,
            h.heads.checked_mul(h.depth_out).ok_or(Stop::Overflow)?,
        ],
        false => vec![h.batch, h.heads, h.queries, h.depth_out],
    };
    let mut made = call.one(out, element)?;
    made.extend(call.one([h.batch, h.heads_kv, h.keys, h.depth], element)?);
    made.extend(call.one([h.batch, h.heads_kv, h.keys, h.depth_out], element)?);
    made.extend(call.one([h.batch, h.heads, h.queries, h.keys], element)?);
    Ok(made)
}
