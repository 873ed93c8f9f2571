/// A configuration key: its documentation, and the conversion of its value.
///
/// `config show`, the help texts, and the JSON Schema are generated from the keys, so they are always correct.
public struct ConfigurationKey<Value: Sendable>: Sendable {
    public let about: KeyDescription
    /// Converts a text that the key accepts.
    let convert: @Sendable (String) -> Value?

    /// Returns the value of a text; nil when the text does not match `about.kind`.
    func read(_ text: String) -> Value? {
        about.accepts(text) ? convert(text) : nil
    }
}

/// The description of a key, independent of its value type.
public struct KeyDescription: Hashable, Sendable {
    /// The dotted name in lower case, with words joined by hyphens: `server.token-file`.
    public let name: String
    /// The meaning, in one sentence.
    public let meaning: String
    public let kind: ValueKind
    public let defaultValue: DefaultValue
    /// Whether the value is a secret. Secrets are masked in all output, and not accepted from flags, which every user
    /// of the machine can see.
    public let isSecret: Bool
    public let programs: [Program]

    /// The name of the environment variable, such as `TOMBOLO_SERVER_TOKEN_FILE`.
    public var variable: String {
        let letters = name.map { $0.isLetter || $0.isNumber ? Character($0.uppercased()) : "_" }
        return Self.variablePrefix + "_" + String(letters)
    }

    public static let variablePrefix = "TOMBOLO"
}

/// The programs that use a key.
public enum Program: String, Hashable, Sendable, CaseIterable {
    case syncctl, syncd
}

/// The kind of value that a key takes, with its unit and range.
public enum ValueKind: Hashable, Sendable {
    case text
    /// A file or a folder. A leading `~/` means the home folder.
    case path
    /// An `http://` or `https://` URL with a host, and optionally a port and a path.
    case url
    case boolean
    case choice([String])
    case integer(ClosedRange<Int>, unit: String)
    case duration(ClosedRange<Duration>)

    /// The expected value, for errors and documents: "a duration from 1s to 1h".
    public var expectation: String {
        switch self {
        case .text: "text"
        case .path: "a path"
        case .url: "a URL such as https://sync.example.org"
        case .boolean: "true or false"
        case .choice(let words): "one of " + words.joined(separator: ", ")
        case .integer(let range, let unit): "a whole number from \(range.lowerBound) to \(range.upperBound) (\(unit))"
        case .duration(let range):
            "a duration from \(DurationText(range.lowerBound)) to \(DurationText(range.upperBound)), such as 500ms, 30s, 5m or 2h"
        }
    }
}

/// The value of a key that is not given.
public enum DefaultValue: Hashable, Sendable {
    /// No default. Code that needs the key throws.
    case none
    case fixed(String)
    /// A folder below `$XDG_DATA_HOME`, or else below `~/.local/share`. Only in environments that use home folders.
    case homeFolder(String)
    /// The log level of the environment.
    case logLevelOfEnvironment

    public var words: String {
        switch self {
        case .none: "none"
        case .fixed(let text): text
        case .homeFolder(let name): "~/.local/share/\(name)"
        case .logLevelOfEnvironment: "by environment"
        }
    }
}
