//! Text of a user in an error message.

/// Text to quote in a message: at most 40 characters, with control characters escaped.
pub fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn long_text_is_cut_and_control_characters_are_escaped() {
        assert_eq!(quote("plain"), "plain");
        assert_eq!(quote("a\nb"), "a\\nb");
        assert_eq!(quote(&"ä".repeat(41)), format!("{}…", "ä".repeat(40)));
    }
}
