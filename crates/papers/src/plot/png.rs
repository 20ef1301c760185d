//! Renders SVG as PNG with the bundled font.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::outline::outlined;

/// Pixels per unit of the SVG: 300 dpi for a chart that is 18 cm wide.
const SCALE: f32 = 3.0;

/// Why a picture cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is not SVG.
    #[error("it is not SVG: {0}")]
    Svg(String),
    /// The picture is too large.
    #[error("{0} by {1} pixels are too many, at most {MAX_PIXELS} either way")]
    TooLarge(u32, u32),
    /// Encoding failed.
    #[error("cannot be encoded: {0}")]
    Encoding(String),
}

/// The maximum width and height in pixels.
const MAX_PIXELS: u32 = 20_000;

/// Renders SVG as PNG. The same text gives the same bytes.
pub fn png(svg: &str) -> Result<Vec<u8>, PngError> {
    let svg = outlined(svg).map_err(|error| PngError::Svg(error.to_string()))?;
    let tree = Tree::from_str(&svg, &Options::default()).map_err(|error| PngError::Svg(error.to_string()))?;
    let side = |length: f32| (length * SCALE).ceil() as u32;
    let (width, height) = (side(tree.size().width()), side(tree.size().height()));
    let pixels = if width.max(height) > MAX_PIXELS { None } else { Pixmap::new(width, height) };
    let mut pixels = pixels.ok_or(PngError::TooLarge(width, height))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::text::FAMILY;

    #[test]
    fn text_uses_the_bundled_font() {
        let picture = |text: &str| {
            let svg = format!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" font-family="{FAMILY}"><text x="2" y="15">{text}</text></svg>"#
            );
            let pixels = Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
            assert_eq!((pixels.width(), pixels.height()), (120, 60));
            pixels.pixels().iter().filter(|pixel| pixel.alpha() > 0).count()
        };
        assert_eq!(picture(""), 0);
        assert!(picture("n") > 100 && picture("nn") > picture("n"));
    }

    #[test]
    fn rejects_invalid_and_large_pictures() {
        assert!(matches!(png("<html/>"), Err(PngError::Svg(_))));
        let wide = r#"<svg xmlns="http://www.w3.org/2000/svg" width="7000" height="2"/>"#;
        let error = png(wide).unwrap_err().to_string();
        assert_eq!(error, "21000 by 6 pixels are too many, at most 20000 either way");
    }
}
