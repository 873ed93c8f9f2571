import SyncProgram

extension TerminalText {
    /// Returns the width of a text in terminal columns. East Asian characters and emoji take two columns,
    /// combining marks none.
    static func columns(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + width($1) }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        return switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            2
        default: 1
        }
    }

    /// Returns the text in at most `limit` columns, with an ellipsis if it was cut.
    static func truncated(_ text: String, to limit: Int) -> String {
        guard columns(text) > limit else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = columns(String(character))
            if used + next > limit - 1 { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }
}
