//! Products of matrices.

use std::collections::BTreeMap;

use super::Made;
use crate::call::{Call, Stop, broadcast, spelled};
use crate::element::Element;
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "MatMul" => matmul(call, 0, 1, call.element(0)),
        "MatMulInteger" => matmul(call, 0, 1, Element::Int32),
        "QLinearMatMul" => matmul(call, 0, 3, call.element(7)),
        "Gemm" | "FusedGemm" => gemm(call),
        "Einsum" => einsum(call),
        "Det" => det(call),
        _ => return None,
    })
}

/// Rows, columns, the length that is summed over, and how many such products there are.
pub(crate) struct Terms {
    pub(crate) batch: Vec<u64>,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) depth: u64,
}

/// The sizes of a matrix product of two operands as NumPy's matmul takes them.
pub(crate) fn terms(one: &[u64], other: &[u64]) -> Result<Terms, Stop> {
    let misfit = || Stop::contradiction(format!("{} by {}", spelled(one), spelled(other)));
    let (batch_one, rows, depth) = match one {
        [] => return Err(misfit()),
        [depth] => (&[][..], 1, *depth),
        [batch @ .., rows, depth] => (batch, *rows, *depth),
    };
    let (batch_other, depth_other, columns) = match other {
        [] => return Err(misfit()),
        [depth] => (&[][..], *depth, 1),
        [batch @ .., depth, columns] => (batch, *depth, *columns),
    };
    if depth != depth_other {
        return Err(misfit());
    }
    Ok(Terms {
        batch: broadcast(batch_one, batch_other)?,
        rows,
        columns,
        depth,
    })
}

fn matmul(call: &Call, one: usize, other: usize, element: Element) -> Result<Vec<Value>, Stop> {
    let (one, other) = (&call.shape(one)?.dims, &call.shape(other)?.dims);
    let Terms {
        batch, rows, columns, ..
    } = terms(one, other)?;
    let mut dims = batch;
    if one.len() > 1 {
        dims.push(rows);
    }
    if other.len() > 1 {
        dims.push(columns);
    }
    call.one(dims, element)
}

fn gemm(call: &Call) -> Result<Vec<Value>, Stop> {
    let turned = |at: usize, name: &str| -> Result<[u64; 2], Stop> {
        let dims = call.dims(at, 1)?;
        let [rows, columns] = *dims else {
            // Old versions took what follows the first axis as one.
            let [first, rest @ ..] = dims else {
                return Err(Stop::contradiction("a scalar is no matrix"));
            };
            return Ok([*first, crate::call::size(rest)?]);
        };
        Ok(match call.int_or(name, 0) {
            0 => [rows, columns],
            _ => [columns, rows],
        })
    };
    let [rows, depth] = turned(0, "transA")?;
    let [depth_other, columns] = turned(1, "transB")?;
    if depth != depth_other {
        return Err(Stop::contradiction(format!(
            "{rows}x{depth} by {depth_other}x{columns}"
        )));
    }
    if let Some(Ok(added)) = call.input(2).map(|added| &added.shape)
        && call.opset >= 7
        && broadcast(&added.dims, &[rows, columns])? != [rows, columns]
    {
        let found = spelled(&added.dims);
        return Err(Stop::contradiction(format!(
            "{found} cannot be added to {rows}x{columns}"
        )));
    }
    call.one([rows, columns], call.element(0))
}

/// An equation of einsum with a size for each letter; the letters that an ellipsis stands for are named `.0`, `.1` and so on.
fn einsum(call: &Call) -> Result<Vec<Value>, Stop> {
    let (sizes, output) = equation(call)?;
    let dims: Option<Vec<u64>> = output.iter().map(|letter| sizes.get(letter).copied()).collect();
    let dims = dims.ok_or_else(|| Stop::contradiction("its output has a letter that no input has"))?;
    call.one(dims, call.element(0))
}

pub(crate) type Sizes = BTreeMap<String, u64>;

/// The size of each letter of an einsum, and the letters of its output.
pub(crate) fn equation(call: &Call) -> Result<(Sizes, Vec<String>), Stop> {
    let text = call.text("equation").unwrap_or_default().replace(' ', "");
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&*text, None),
    };
    let mut sizes = Sizes::new();
    let mut count = BTreeMap::<String, usize>::new();
    let mut ellipsis = 0;
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != call.inputs.len() {
        return Err(Stop::contradiction(format!(
            "`{text}` is for {} inputs, and there are {}",
            terms.len(),
            call.inputs.len()
        )));
    }
    for (at, term) in terms.iter().enumerate() {
        let dims = &call.shape(at)?.dims;
        let letters = letters(term, dims.len())?;
        ellipsis = ellipsis.max(letters.iter().filter(|letter| letter.starts_with('.')).count());
        for (letter, dim) in letters.into_iter().zip(dims) {
            *count.entry(letter.clone()).or_default() += 1;
            let size = sizes.entry(letter).or_insert(1);
            if *size != *dim && *size != 1 && *dim != 1 {
                return Err(Stop::contradiction(format!(
                    "`{text}` has a letter of {size} and of {dim}"
                )));
            }
            *size = (*size).max(*dim);
            if *dim == 0 {
                *size = 0;
            }
        }
    }
    let output = match right {
        Some(right) => {
            let named = right.replace("...", "").chars().count();
            letters(right, named + ellipsis)?
        }
        None => {
            let once = count
                .iter()
                .filter(|(letter, count)| letter.starts_with('.') || **count == 1);
            once.map(|(letter, _)| letter.clone()).collect()
        }
    };
    Ok((sizes, output))
}

/// The letters of one term, of so many dimensions. Those of an ellipsis are counted from its end.
fn letters(term: &str, rank: usize) -> Result<Vec<String>, Stop> {
    let each = |text: &str| -> Vec<String> { text.chars().map(String::from).collect() };
    let misfit = || Stop::contradiction(format!("`{term}` does not name {rank} dimensions"));
    let Some((before, after)) = term.split_once("...") else {
        let letters = each(term);
        return if letters.len() == rank {
            Ok(letters)
        } else {
            Err(misfit())
        };
    };
    let (mut letters, after) = (each(before), each(after));
    let hidden = rank.checked_sub(letters.len() + after.len()).ok_or_else(misfit)?;
    letters.extend(
        (0..hidden)
            .rev()
            .map(|at| format!(".{:02}", 99_usize.saturating_sub(at))),
    );
    letters.extend(after);
    Ok(letters)
}

fn det(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = call.dims(0, 2)?;
    call.one(&dims[..dims.len() - 2], call.element(0))
}
