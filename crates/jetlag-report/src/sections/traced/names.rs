//! Names of kernels that fit a table.

/// A kernel's name without what says little (`void`, its parameters), and without its middle if it is still too long: the
/// beginning has the library and the operation, the end what tells variants apart.
pub(crate) fn shortened(name: &str, room: usize) -> String {
    let name = without_parameters(name.strip_prefix("void ").unwrap_or(name));
    let count = name.chars().count();
    if count <= room {
        return name.to_owned();
    }
    let beginning = room * 3 / 5;
    let end = room.saturating_sub(beginning + 1);
    let mut text: String = name.chars().take(beginning).collect();
    text.push('…');
    text.extend(name.chars().skip(count - end));
    text
}

/// The name up to the list of parameters that it ends in, if it does.
fn without_parameters(name: &str) -> &str {
    let Some(inside) = name.strip_suffix(')') else {
        return name;
    };
    let mut open = 1;
    for (place, sign) in inside.char_indices().rev() {
        match sign {
            ')' => open += 1,
            '(' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(&name[..place])
                .filter(|rest| !rest.is_empty())
                .unwrap_or(name);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_s_name_loses_its_parameters_first_and_its_middle_then() {
        let name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul>>(int, (anonymous namespace)::Add, std::array<char*, 3ul>)";
        assert_eq!(
            shortened(name, 200),
            "at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul>>"
        );
        let cut = shortened(name, 40);
        assert_eq!(cut, "at::native::vectorized_e…ay<char*, 3ul>>");
        assert_eq!(cut.chars().count(), 40);
        for whole in ["sm80_xmma_fprop", "(anonymous namespace)", ")", "f)", "größe(x"] {
            assert_eq!(shortened(whole, 40), whole);
        }
        assert_eq!(
            shortened("(anonymous namespace)::k(int)", 40),
            "(anonymous namespace)::k"
        );
    }
}
