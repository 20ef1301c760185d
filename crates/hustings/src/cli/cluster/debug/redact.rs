//! What must not leave the host, taken out of texts.

/// What stands instead.
const REDACTED: &str = "[redacted]";
/// Names before a `=`, `:` or space whose value is a secret.
const SECRET_NAMES: [&str; 8] =
    ["password", "passwd", "secret", "api-key", "api_key", "apikey", "authorization", "access_token"];
/// From this length on, a word of letters and digits is taken for a secret.
const MIN_SECRET_LENGTH: usize = 32;

/// The value of a key of the configuration. A health check may have a password in its command or its address.
pub(super) fn setting(key: &str, value: &str) -> String {
    match key {
        "health.command" => {
            let program = value.split_whitespace().next().unwrap_or_default();
            if program == value { value.to_string() } else { format!("{program} {REDACTED}") }
        }
        "health.http" => {
            let value = without_user(value);
            match value.split_once('?') {
                Some((address, _)) => format!("{address}?{REDACTED}"),
                None => value,
            }
        }
        _ => text(value),
    }
}

/// A text without private keys, tokens and passwords.
pub(super) fn text(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_in_key = false;
    for line in text.split_inclusive('\n') {
        if is_in_key {
            is_in_key = !line.contains("-----END ");
        } else if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            is_in_key = !line.contains("-----END ");
            kept += "[redacted private key]\n";
        } else {
            kept += &self::line(line);
        }
    }
    kept
}

fn line(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let named = SECRET_NAMES.iter().filter_map(|name| Some(lower.find(name)? + name.len())).min();
    // What follows such a name may have spaces, quotes and anything else: the rest of the line goes.
    let line = match named.filter(|end| is_separator(line.as_bytes().get(*end))) {
        Some(end) => format!("{} {REDACTED}{}", &line[..=end], if line.ends_with('\n') { "\n" } else { "" }),
        None => line.to_string(),
    };
    let words = without_user(&line);
    words.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '+')).map(word).collect()
}

fn is_separator(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| matches!(byte, b'=' | b':' | b' ' | b'"' | b'\''))
}

/// A word, with the character that ends it. Long ones with letters and digits are tokens, keys or hashes.
fn word(word: &str) -> String {
    let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '+'));
    let has = |is: fn(&u8) -> bool| bare.as_bytes().iter().any(is);
    if bare.len() >= MIN_SECRET_LENGTH && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
        return format!("{REDACTED}{}", &word[bare.len()..]);
    }
    word.to_string()
}

/// Removes `user:password@` from addresses.
fn without_user(text: &str) -> String {
    let mut parts = text.split("://");
    let mut kept = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| c == '/' || c == '"' || c.is_whitespace()).unwrap_or(part.len());
        let from = part[..end].rfind('@').map_or(0, |at| at + 1);
        kept += "://";
        kept += if from == 0 { "" } else { "[redacted]@" };
        kept += &part[from..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_and_the_rest_stays() {
        let token = format!("hst_{}", "0a1b2c3d".repeat(8));
        for (given, wanted) in [
            ("2026-11-18T06:15:02.193Z INFO  a leads with token 6\n", None),
            ("audit: caller=token:jobs request=pause result=forbidden", None),
            ("cannot write /var/lib/hustings/log: No space left on device (os error 28)", None),
            ("token 1152921504606846976 at 10.0.0.1:7401", None),
            (&format!("got {token}, refused"), Some("got [redacted], refused")),
            ("Authorization: Basic YTpi\n", Some("Authorization: [redacted]\n")),
            ("check: PGPASSWORD=a b c", Some("check: PGPASSWORD= [redacted]")),
            ("GET http://app:hunter2@db:80/x failed", Some("GET http://[redacted]@db:80/x failed")),
            (
                "x\n-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\ny",
                Some("x\n[redacted private key]\ny"),
            ),
        ] {
            assert_eq!(text(given), wanted.unwrap_or(given));
        }
        assert_eq!(setting("health.command", "check --key x"), "check [redacted]");
        assert_eq!(setting("health.command", "/usr/bin/check"), "/usr/bin/check");
        assert_eq!(setting("health.http", "http://u:p@h/live?key=1"), "http://[redacted]@h/live?[redacted]");
        assert_eq!(setting("timing.lease", "300ms"), "300ms");
    }

    #[test]
    fn a_key_that_does_not_end_takes_the_rest_with_it() {
        assert_eq!(text("-----BEGIN EC PRIVATE KEY-----\nMIGH\nabc"), "[redacted private key]\n");
    }
}
