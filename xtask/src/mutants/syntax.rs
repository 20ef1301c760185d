//! Small errors in the rules of the algorithms, made from their syntax: each comparison moved and negated, each effect
//! dropped, each assignment skipped, each constant moved.

use std::collections::BTreeMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit};

/// What is evaluated in place of an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edit {
    /// The function that it is in, as `Type::name`.
    pub(super) function: String,
    /// The bytes of the file that it replaces: an expression.
    pub(super) range: Range<usize>,
    pub(super) replace: String,
}

/// The effects that a handler asks for: the methods of a context that return nothing.
const EFFECTS: &[&str] = &[
    "emit",
    "follow",
    "forget",
    "lead",
    "learn",
    "send",
    "send_all",
    "send_all_but",
    "send_direct",
    "send_range",
    "send_to",
    "set_timer",
    "skip",
];

/// Traits whose functions are no rules: descriptions, formulas, parameters and texts.
const OTHER_TRAITS: &[&str] = &["Algorithm", "Debug", "Display", "Params"];

/// All edits of the functions of a file, in the order of the text, and of several at the same place in a fixed order.
pub(super) fn edits(text: &str) -> Result<Vec<Edit>, syn::Error> {
    let mut found = Finder { text, path: Vec::new(), edits: Vec::new() };
    found.visit_file(&syn::parse_file(text)?);
    found.edits.sort_by_key(|edit| (edit.range.start, std::cmp::Reverse(edit.range.end)));
    Ok(found.edits)
}

struct Finder<'a> {
    text: &'a str,
    path: Vec<String>,
    edits: Vec<Edit>,
}

impl Finder<'_> {
    fn source(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn edit(&mut self, whole: &impl Spanned, replace: String) {
        let (function, range) = (self.path.join("::"), whole.span().byte_range());
        self.edits.push(Edit { function, range, replace });
    }

    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }
}

/// The operator that treats equal operands differently, and the negation.
fn other_comparisons(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        _ => &[],
    }
}

fn is_compound_assignment(operator: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        operator,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("test"))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, one: &'ast syn::ItemImpl) {
        let implemented = one.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        if implemented.is_some_and(|name| OTHER_TRAITS.iter().any(|other| name.ident == other)) {
            return;
        }
        let of = match &*one.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|name| name.ident.to_string()),
            _ => None,
        };
        self.inside(of.unwrap_or_default(), |found| visit::visit_item_impl(found, one));
    }

    fn visit_item_trait(&mut self, one: &'ast syn::ItemTrait) {
        self.inside(one.ident.to_string(), |found| visit::visit_item_trait(found, one));
    }

    // What is computed at compile time cannot have a switch.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_expr_repeat(&mut self, one: &'ast syn::ExprRepeat) {
        self.visit_expr(&one.expr);
    }

    fn visit_item_fn(&mut self, one: &'ast syn::ItemFn) {
        if one.sig.constness.is_none() && !is_test(&one.attrs) {
            self.inside(one.sig.ident.to_string(), |found| found.visit_block(&one.block));
        }
    }

    fn visit_impl_item_fn(&mut self, one: &'ast syn::ImplItemFn) {
        if one.sig.constness.is_none() {
            self.inside(one.sig.ident.to_string(), |found| found.visit_block(&one.block));
        }
    }

    fn visit_trait_item_fn(&mut self, one: &'ast syn::TraitItemFn) {
        if let Some(block) = &one.default {
            self.inside(one.sig.ident.to_string(), |found| found.visit_block(block));
        }
    }

    /// The value behind `&1` lives as long as the program; that of an expression does not.
    fn visit_expr_reference(&mut self, one: &'ast syn::ExprReference) {
        if !matches!(*one.expr, Expr::Lit(_)) {
            self.visit_expr(&one.expr);
        }
    }

    fn visit_expr_binary(&mut self, one: &'ast syn::ExprBinary) {
        for operator in other_comparisons(&one.op) {
            let (left, right) = (self.source(&one.left).to_string(), self.source(&one.right).to_string());
            self.edit(one, format!("({left}) {operator} ({right})"));
        }
        if is_compound_assignment(&one.op) {
            self.edit(one, "()".to_string());
        }
        visit::visit_expr_binary(self, one);
    }

    fn visit_expr_assign(&mut self, one: &'ast syn::ExprAssign) {
        // `_ = value` assigns nothing.
        if !matches!(*one.left, Expr::Infer(_)) {
            self.edit(one, "()".to_string());
        }
        visit::visit_expr_assign(self, one);
    }

    fn visit_expr_method_call(&mut self, one: &'ast syn::ExprMethodCall) {
        let is_context = matches!(&*one.receiver, Expr::Path(path) if path.path.is_ident("cx"));
        if is_context && EFFECTS.iter().any(|effect| one.method == effect) {
            self.edit(one, "()".to_string());
        }
        self.visit_expr(&one.receiver);
        one.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_lit(&mut self, one: &'ast syn::ExprLit) {
        match &one.lit {
            Lit::Int(number) => {
                if let Ok(value) = number.base10_parse::<u64>() {
                    self.edit(one, format!("{}{}", value + 1, number.suffix()));
                }
            }
            Lit::Bool(truth) => self.edit(one, (!truth.value).to_string()),
            _ => {}
        }
    }
}

/// The text with all edits behind switches, given each with its number. Edits may be inside others.
pub(super) fn switched(text: &str, edits: &[(usize, &Edit)], is_selected: &dyn Fn(usize) -> String) -> String {
    part(text, 0..text.len(), edits, is_selected)
}

fn part(text: &str, range: Range<usize>, edits: &[(usize, &Edit)], is_selected: &dyn Fn(usize) -> String) -> String {
    let (mut switched, mut at, mut place) = (String::new(), range.start, 0);
    while let Some((_, first)) = edits.get(place) {
        let here = &first.range;
        let same = edits[place..].iter().take_while(|(_, edit)| edit.range == *here).count();
        let within = edits[place..].iter().take_while(|(_, edit)| edit.range.start < here.end).count();
        switched.push_str(&text[at..here.start]);
        switched.push('(');
        for (number, edit) in &edits[place..place + same] {
            switched.push_str(&format!("if {} {{ {} }} else ", is_selected(*number), edit.replace));
        }
        let inner = part(text, here.clone(), &edits[place + same..place + within], is_selected);
        switched.push_str(&format!("{{ {inner} }})"));
        (at, place) = (here.end, place + within);
    }
    switched.push_str(&text[at..range.end]);
    switched
}

/// The names of the edits of a file: where they are, and what they do. Equal ones are numbered.
pub(super) fn names(file: &str, text: &str, edits: &[Edit]) -> Vec<String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let name = |edit: &Edit| {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (from, to) = (words(&text[edit.range.clone()]), words(&edit.replace));
        let name = format!("{file} {}: {from} → {to}", edit.function);
        let times = count.entry(name.clone()).and_modify(|times| *times += 1).or_insert(1);
        if *times > 1 { format!("{name} ({times})") } else { name }
    };
    edits.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let edits = edits(text).expect("it is Rust");
        edits.iter().map(|edit| (text[edit.range.clone()].to_string(), edit.replace.clone())).collect()
    }

    fn inside(body: &str) -> Vec<String> {
        let text = format!("impl Rules {{ fn handle(&mut self, cx: &mut C) {{ {body} }} }}");
        found(&text).into_iter().map(|(from, to)| format!("{from} → {to}")).collect()
    }

    #[test]
    fn comparisons_effects_assignments_and_constants_are_changed() {
        assert_eq!(inside("if a < b {}"), ["a < b → (a) <= (b)", "a < b → (a) >= (b)"]);
        assert_eq!(inside("if a == b as u8 {}"), ["a == b as u8 → (a) != (b as u8)"]);
        assert_eq!(inside("cx.send(Port::NEXT, word);"), ["cx.send(Port::NEXT, word) → ()"]);
        assert_eq!(inside("self.state = State::Idle;"), ["self.state = State::Idle → ()"]);
        assert_eq!(inside("*hops += 1;"), ["*hops += 1 → ()", "1 → 2"]);
        assert_eq!(inside("let first = true;"), ["true → false"]);
        assert_eq!(inside("let size = 0u32;"), ["0u32 → 1u32"]);
    }

    #[test]
    fn what_is_no_rule_stays_as_it_is() {
        let nothing: [String; 0] = [];
        assert_eq!(inside("once(&0);"), nothing);
        assert_eq!(inside("let a = [b; 4]; match c { 1 => {} _ => {} } _ = cx.rank();"), nothing);
        assert_eq!(
            found("const A: u8 = 1; const fn f() -> u8 { 1 } #[cfg(test)] mod tests { fn f() -> u8 { 1 } }"),
            []
        );
        assert_eq!(
            found("impl Algorithm for A { fn expect() -> u8 { 1 } } impl fmt::Display for A { fn fmt() -> u8 { 1 } }"),
            []
        );
    }

    #[test]
    fn edits_are_made_inside_each_other() {
        let text = "fn f() { x = a < b; }";
        let edits = edits(text).expect("it is Rust");
        let numbered: Vec<(usize, &Edit)> = (1..).zip(&edits).collect();
        assert_eq!(
            switched(text, &numbered, &|number| format!("is({number})")),
            "fn f() { (if is(1) { () } else { x = (if is(2) { (a) <= (b) } else if is(3) { (a) >= (b) } else { a < b }) }); }"
        );
        assert_eq!(
            names("one.rs", text, &edits),
            ["one.rs f: x = a < b → ()", "one.rs f: a < b → (a) <= (b)", "one.rs f: a < b → (a) >= (b)"]
        );
    }

    #[test]
    fn equal_edits_have_different_names() {
        let text = "fn f() { g(1); g(1); }";
        assert_eq!(
            names("one.rs", text, &edits(text).expect("it is Rust")),
            ["one.rs f: 1 → 2", "one.rs f: 1 → 2 (2)"]
        );
    }
}
