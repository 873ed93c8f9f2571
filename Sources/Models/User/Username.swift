import Foundation

/// The rules for usernames that a schema cannot express.
public enum Username {
    /// The form in which a name is kept: composed (NFC), so that what looks the same is the same bytes.
    public static func normalised(_ name: String) -> String {
        name.precomposedStringWithCanonicalMapping
    }

    /// A name shows at least one character.
    static func check(_ name: String) throws(ModelFailure) {
        guard name.unicodeScalars.contains(where: isVisible) else {
            throw ModelFailure(
                .invalidValue, "user.username has nothing to show: at least one visible character is expected")
        }
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator, .nonspacingMark, .enclosingMark, .spacingMark:
            false
        default: true
        }
    }
}
