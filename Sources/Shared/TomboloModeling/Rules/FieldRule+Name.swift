import Foundation
public import SyncModel

extension FieldRule {
    /// The rule for a name that people read on one line.
    ///
    /// The name is in Unicode normalization form C (NFC), so that names that look the same have the same bytes. It has
    /// at least one visible character, no space at either end, and no invisible character: no controls, line breaks,
    /// bidirectional marks, zero-width characters, or private-use characters. Unassigned characters are allowed, so
    /// that builds with different Unicode versions agree.
    public static let name = FieldRule(
        name: "name", normalized: { $0.precomposedStringWithCanonicalMapping },
        problem: { text in
            if let scalar = text.unicodeScalars.first(where: isForbidden) {
                let code = String(scalar.value, radix: 16, uppercase: true)
                let digits = String(repeating: "0", count: max(0, 4 - code.count)) + code
                return "contains U+\(digits), which is an invisible or control character: remove it"
            }
            guard text.unicodeScalars.contains(where: isVisible) else {
                return "has no visible characters: expected at least one visible character"
            }
            let ends = [text.unicodeScalars.first, text.unicodeScalars.last]
            if ends.contains(where: { $0?.properties.isWhitespace ?? false }) {
                return "begins or ends with a space: remove it"
            }
            guard Array(text.utf8) == Array(text.precomposedStringWithCanonicalMapping.utf8) else {
                return "is not composed: expected Unicode normalization form C"
            }
            return nil
        })

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator: true
        // Hangul fillers are letters without a glyph, and variation selectors change nothing in most fonts.
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .nonspacingMark, .enclosingMark, .spacingMark: false
        default: true
        }
    }
}
