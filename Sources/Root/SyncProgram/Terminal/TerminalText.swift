/// Text that is safe to write to a terminal.
///
/// Literal parts come from this program's authors and stay unchanged. Every interpolated value is escaped, whatever it
/// contains: error texts of a server, names of records, host names, paths. A `String` does not convert to this type, so
/// no caller can forget to escape it.
///
///     ProgramOutput.note("the server says: \(message)\n")
public struct TerminalText: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The text to write. Everything except the literals is escaped.
    public private(set) var rendered: String

    public init(stringLiteral value: String) {
        rendered = value
    }

    public init(stringInterpolation: StringInterpolation) {
        rendered = stringInterpolation.rendered
    }

    /// Creates text of several lines that this program generated. Line breaks stay; all other control characters are
    /// escaped.
    public init(document: String) {
        // The split is by Unicode scalars, because a carriage return and a line feed form one `Character`.
        rendered = document.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Self.escaped(String($0)) }.joined(separator: "\n")
    }

    /// Creates text that consists only of this program's literals, such as its help. The text stays unchanged, because
    /// a completion script has tabs.
    package init(generated text: String) {
        rendered = text
    }

    /// Creates text from JSON on one line. Unsafe characters become `\u` escapes, which mean the same to a parser.
    ///
    /// - Parameter json: a valid JSON text.
    public init(json: String) {
        rendered = Self.replacingUnsafe(in: json) { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16, uppercase: true)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var rendered = ""

        public init(literalCapacity: Int, interpolationCount: Int) {
            rendered.reserveCapacity(literalCapacity)
        }

        public mutating func appendLiteral(_ literal: String) {
            rendered += literal
        }

        /// Appends text that is already safe.
        public mutating func appendInterpolation(_ text: TerminalText) {
            rendered += text.rendered
        }

        /// Appends the description of any value, escaped.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            rendered += TerminalText.escaped(value.description)
        }

        /// Appends the description of an error, escaped.
        public mutating func appendInterpolation(_ error: any Error) {
            rendered += TerminalText.escaped("\(error)")
        }
    }

    /// Returns the two texts joined. Neither is escaped again.
    public static func + (lhs: TerminalText, rhs: TerminalText) -> TerminalText { "\(lhs)\(rhs)" }
}

extension TerminalText {
    /// Returns the text on one line, with unsafe characters replaced by their codes.
    ///
    /// Unsafe characters would move the cursor, ring the bell, change the writing direction, or be invisible. Escaping
    /// twice changes nothing.
    public static func escaped(_ text: String) -> String {
        replacingUnsafe(in: text) { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            }
        }
    }

    private static func replacingUnsafe(in text: String, by code: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) {
                result += code(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Control characters, format characters (bidirectional marks, zero-width joiners), line and paragraph
        // separators, private-use and unassigned characters, and surrogates.
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: true
        default: false
        }
    }
}
