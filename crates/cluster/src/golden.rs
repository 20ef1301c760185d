//! Golden files: the bytes of every format, as hexadecimal text in `testdata/formats`.
//!
//! A test fails if today's encoding of a value is not the committed one, or if the committed bytes no longer decode to
//! that value. An intended change of a format gets a new version and a new file; the old file stays, so that reading it
//! is still tested. `HUSTINGS_REGENERATE=1` writes the files.

use std::fmt::{Debug, Write};
use std::path::PathBuf;
use std::{env, fs};

/// Checks the values of one format, each with a name, against its golden file.
pub(crate) fn check<T: PartialEq + Debug>(
    file: &str,
    cases: &[(&str, T)],
    encode: impl Fn(&T) -> Vec<u8>,
    decode: impl Fn(&[u8]) -> T,
) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/formats").join(format!("{file}.txt"));
    if env::var_os("HUSTINGS_REGENERATE").is_some_and(|value| value == "1") {
        let text: String = cases.iter().map(|(name, value)| section(name, &encode(value))).collect();
        fs::write(&path, text).expect("the golden file can be written");
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let golden = parse(&text);
    let names = |list: &mut dyn Iterator<Item = &str>| list.map(str::to_string).collect::<Vec<_>>();
    assert_eq!(
        names(&mut golden.iter().map(|(name, _)| name.as_str())),
        names(&mut cases.iter().map(|(name, _)| *name)),
        "{file}: the values in the file and in the test differ; HUSTINGS_REGENERATE=1 writes the file"
    );
    for ((name, value), (_, bytes)) in cases.iter().zip(&golden) {
        assert_eq!(&decode(bytes), value, "{file}, {name}: the committed bytes mean something else now");
        assert!(
            encode(value) == *bytes,
            "{file}, {name}: the encoding has changed. If that is intended, give the format a new version, or write the \
             file with HUSTINGS_REGENERATE=1 if this version was never released.\nnow:\n{}",
            section(name, &encode(value))
        );
    }
}

/// A name, and below it the bytes, 32 in a line.
fn section(name: &str, bytes: &[u8]) -> String {
    let mut text = format!("{name}\n");
    for line in bytes.chunks(32) {
        for byte in line {
            write!(text, " {byte:02x}").expect("a string can be written to");
        }
        text.push('\n');
    }
    text
}

fn parse(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(' '), found.last_mut()) {
            (Some(bytes), Some((_, last))) => {
                last.extend(bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("a hexadecimal byte")));
            }
            _ => found.push((line.to_string(), Vec::new())),
        }
    }
    found
}
