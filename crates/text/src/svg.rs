//! Writing SVG: elements with attributes and content, escaped, with short numbers.
//!
//! Traces and charts are both drawn with it.
//!
//! ```
//! use hustings_text::svg::{Element, Svg};
//!
//! let mut picture = Svg::default();
//! picture.open(&Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg").number("width", 20.0));
//! picture.add(&Element::new("circle").number("r", 3.25).title("a & b"));
//! picture.close("svg");
//! assert!(picture.as_str().contains(r#"<circle r="3.25"><title>a &amp; b</title></circle>"#));
//! ```

use std::fmt::{self, Display, Write};

/// The text of a picture: a line for each element.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Svg {
    text: String,
}

impl Svg {
    /// Appends an element.
    pub fn add(&mut self, element: &Element) {
        self.add_raw(&element.to_string());
    }

    /// Appends the start tag of an element; [`Svg::close`] ends it.
    pub fn open(&mut self, element: &Element) {
        self.add_raw(&format!("{}>", element.tag));
    }

    /// Appends an end tag.
    pub fn close(&mut self, name: &str) {
        self.add_raw(&format!("</{name}>"));
    }

    /// Appends a line that is XML already.
    pub fn add_raw(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Appends everything that is in another picture.
    pub fn append(&mut self, other: &Svg) {
        self.text.push_str(&other.text);
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The finished text.
    pub fn into_string(self) -> String {
        self.text
    }
}

/// An element with its attributes and its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    name: &'static str,
    /// The start tag without its end.
    tag: String,
    content: String,
}

impl Element {
    /// An element without attributes and content.
    pub fn new(name: &'static str) -> Self {
        Element { name, tag: format!("<{name}"), content: String::new() }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: impl Display) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.tag, " {name}=\"{}\"", escape(&value.to_string()));
        self
    }

    /// Adds an attribute that is a number.
    #[must_use]
    pub fn number(self, name: &str, value: f64) -> Self {
        self.attribute(name, number(value))
    }

    /// Appends text to the content.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.content.push_str(&escape(text));
        self
    }

    /// Appends an element to the content.
    #[must_use]
    pub fn child(mut self, child: &Element) -> Self {
        let _ = write!(self.content, "{child}");
        self
    }

    /// Adds a title, which browsers show as a tooltip.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.child(&Element::new("title").text(title))
    }
}

impl Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.content.is_empty() {
            write!(out, "{}/>", self.tag)
        } else {
            write!(out, "{}>{}</{}>", self.tag, self.content, self.name)
        }
    }
}

/// A number with at most two decimals: a hundredth of a pixel is enough.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// The data of a `path`: commands with their coordinates.
pub fn path(commands: &[(char, &[f64])]) -> String {
    let command = |(name, numbers): &(char, &[f64])| {
        let numbers: Vec<String> = numbers.iter().copied().map(number).collect();
        format!("{name}{}", numbers.join(" "))
    };
    commands.iter().map(command).collect::<Vec<_>>().join(" ")
}

/// Escapes text for XML and HTML, inside and outside of double-quoted attributes. White space becomes a space; other
/// characters that XML does not allow become a question mark.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_and_control_characters() {
        assert_eq!(escape("a<b>&\"\u{0}\n"), "a&lt;b&gt;&amp;&quot;? ");
        let element = Element::new("text").attribute("class", "\"<").text("1 < 2");
        assert_eq!(element.to_string(), "<text class=\"&quot;&lt;\">1 &lt; 2</text>");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 2.5, 1.0 / 3.0, -0.001, 100.0].map(number), ["1", "2.5", "0.33", "0", "100"]);
        assert_eq!(path(&[('M', &[1.0, 2.0]), ('V', &[3.5])]), "M1 2 V3.5");
    }

    #[test]
    fn elements_nest() {
        let mut picture = Svg::default();
        picture.open(&Element::new("g").attribute("class", "mark"));
        picture.add(&Element::new("rect").number("width", 4.0));
        picture.add(&Element::new("text").text("a").child(&Element::new("tspan").text("b")));
        picture.close("g");
        let expected = "<g class=\"mark\">\n<rect width=\"4\"/>\n<text>a<tspan>b</tspan></text>\n</g>\n";
        assert_eq!(picture.as_str(), expected);
    }
}
