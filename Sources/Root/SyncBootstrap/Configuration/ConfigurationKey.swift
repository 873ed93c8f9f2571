/// One thing that can be configured: its documentation, and how its value is read.
///
/// `config show`, the help texts and the JSON Schema are made from these values, so that none of them can be wrong.
public struct ConfigurationKey<Value: Sendable>: Sendable {
    public let about: KeyDescription
    /// Makes a value of a text that the key accepts.
    let convert: @Sendable (String) -> Value?

    /// Reads the text form; nil when the text is not what `about.kind` says.
    func read(_ text: String) -> Value? {
        about.accepts(text) ? convert(text) : nil
    }
}

/// The description of a key, whatever its type.
public struct KeyDescription: Hashable, Sendable {
    /// Dotted, lower case, words joined by hyphens: `server.token-file`.
    public let name: String
    /// One sentence.
    public let meaning: String
    public let kind: ValueKind
    public let defaultValue: DefaultValue
    /// Secrets are masked wherever they are shown, and not taken from flags, which every user of the machine can see.
    public let isSecret: Bool
    public let programs: [Program]

    /// The name of the environment variable: `TOMBOLO_SERVER_TOKEN_FILE`.
    public var variable: String {
        let letters = name.map { $0.isLetter || $0.isNumber ? Character($0.uppercased()) : "_" }
        return Self.variablePrefix + "_" + String(letters)
    }

    public static let variablePrefix = "TOMBOLO"
}

/// The programs that a key means something to.
public enum Program: String, Hashable, Sendable, CaseIterable {
    case syncctl, syncd
}

/// The kind of value that a key takes, with its unit and range.
public enum ValueKind: Hashable, Sendable {
    case text
    /// A file or a folder; `~/` at the beginning is the home folder.
    case path
    /// `http://` or `https://`, a host, perhaps a port and a path.
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

/// The value that holds when nobody gave one.
public enum DefaultValue: Hashable, Sendable {
    /// There is none: what needs the key says so.
    case none
    case fixed(String)
    /// A folder in the user's home: below `$XDG_DATA_HOME`, else below `~/.local/share`. Only where the environment
    /// uses home folders.
    case homeFolder(String)
    /// The log level that the environment picks.
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
