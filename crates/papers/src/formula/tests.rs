use super::*;

fn names(name: &str) -> Option<f64> {
    Some(match name {
        "n" => 10.0,
        "p.k" => 3.0,
        "messages.are-you-there" => 7.0,
        "order" => 4.0,
        "zero" => 0.0,
        _ => return None,
    })
}

fn value(text: &str) -> f64 {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).eval(&names).unwrap()
}

#[test]
fn values() {
    for (text, wanted) in [
        ("1", 1.0),
        ("1 + 2*3", 7.0),
        ("(1 + 2)*3", 9.0),
        ("10 - 3 - 2", 5.0),
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("2^-1", 0.5),
        ("--3", 3.0),
        ("7 % 4", 3.0),
        ("-1 % 4", 3.0),
        ("8 / 4 / 2", 1.0),
        ("n*(n-1)/2", 45.0),
        ("p.k*n", 30.0),
        ("`messages.are-you-there` + 1", 8.0),
        ("1.5e2 + .5", 150.5),
        ("min(3, n, 2) + max(1, 5)", 7.0),
        ("floor(2.7) + ceil(2.1) + round(2.5)", 8.0),
        ("sqrt(16) + ln(1) + log2(1024)", 14.0),
        ("H(2)", 1.5),
        ("H(0)", 0.0),
        ("n > 9", 1.0),
        ("n>=10 and n<=10", 1.0),
        ("n == 3 or n != 3", 1.0),
        ("n < 3 or zero", 0.0),
        ("1 + 1 == 2", 1.0),
        ("order", 4.0),
        ("order or 0", 1.0),
    ] {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn the_harmonic_expansion_is_continuous() {
    for n in [100u32, 101, 1000, 123_456] {
        let sum: f64 = (1..=n).rev().map(|k| 1.0 / f64::from(k)).sum();
        assert!((harmonic(f64::from(n)) - sum).abs() < 1e-12, "{n}");
    }
}

#[test]
fn names_are_listed_once() {
    assert_eq!(Formula::parse("n*n + p.k - `a b` + min(n, u)").unwrap().names(), ["a b", "n", "p.k", "u"]);
}

#[test]
fn errors_name_the_column_and_what_is_allowed() {
    for (text, wanted) in [
        ("", "column 1: the formula ends too early; allowed: a number, a name, a function, `(` or `-`"),
        ("n +", "column 4: the formula ends too early; allowed: a number, a name, a function, `(` or `-`"),
        ("n + * 2", "column 5: `*` cannot stand here; allowed: a number, a name, a function, `(` or `-`"),
        (
            "n n",
            "column 3: `n` cannot stand here; allowed: an operator (+ - * / % ^ < <= > >= == != and or) or the end",
        ),
        ("n)", "column 2: `)` cannot stand here; allowed: an operator (+ - * / % ^ < <= > >= == != and or) or the end"),
        ("(n", "column 3: the formula ends too early; allowed: `)`, or an operator and more before it"),
        ("flor(n)", "column 1: there is no function `flor`; allowed: min, max, floor, ceil, round, sqrt, ln, log2, H"),
        ("floor(n, 2)", "column 8: this function takes one number; allowed: `)`"),
        ("max(n)", "column 6: this function takes two numbers or more; allowed: `,`"),
        ("1.2.3", "column 1: `1.2.3` is not a finite number; allowed: a number such as 12, 0.5 or 1e6"),
        ("1e999", "column 1: `1e999` is not a finite number; allowed: a number such as 12, 0.5 or 1e6"),
        ("``", "column 2: there is nothing between the backquotes; allowed: a name"),
        ("and", "column 1: `a` cannot stand here; allowed: a number, a name, a function, `(` or `-`"),
        (
            "n = 3",
            "column 3: `=` cannot stand here; allowed: an operator (+ - * / % ^ < <= > >= == != and or) or the end",
        ),
    ] {
        assert_eq!(Formula::parse(text).unwrap_err().to_string(), wanted, "{text}");
    }
    assert_eq!(Formula::parse("flor(n)").unwrap_err().nearest.as_deref(), Some("floor"));
}

#[test]
fn length_and_depth_are_limited() {
    let deep = format!("{}1{}", "(".repeat(51), ")".repeat(51));
    assert!(Formula::parse(&deep).unwrap_err().to_string().contains("nests too deeply"));
    assert!(Formula::parse(&"-".repeat(500)).unwrap_err().to_string().contains("nests too deeply"));
    let long = format!("1{}", "+1".repeat(500));
    assert!(Formula::parse(&long).unwrap_err().to_string().contains("too long"));
    assert_eq!(value(&format!("1{}", "+1".repeat(499))), 500.0);
}

#[test]
fn conditions_are_recognised() {
    let is = |text: &str| Formula::parse(text).unwrap().is_condition(&|name| name == "agreement");
    assert!(["estimate < n", "agreement", "`agreement`", "1 == n and n > 2", "(n != 3)"].into_iter().all(is));
    assert!(!["n", "1 - agreement", "n * (n < 3)", "(n < 3) + (n > 5)", "-(n < 3)", "1"].into_iter().any(is));
}

#[test]
fn evaluation_errors_name_the_cause() {
    let fails = |text: &str| Formula::parse(text).unwrap().eval(&names).unwrap_err().to_string();
    assert_eq!(fails("n + m"), "`m` has no value here");
    for text in ["1/zero", "sqrt(-1)", "ln(0) < 1", "1e300*1e300", "H(-1)", "1 % zero"] {
        assert_eq!(fails(text), format!("`{text}` is not a finite number here"));
    }
}
