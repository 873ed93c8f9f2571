/// One setting of a program: its documentation, and the place of its value. The value that stands there at first is the
/// default.
///
/// `config show`, the help texts, and the JSON Schema are made from these values, so that none of them can be wrong.
package struct Setting<Values: Sendable>: Sendable {
    /// Dotted, lower case, words joined by hyphens: `server.token-file`.
    package let name: String
    /// Its effect, in sentences.
    package let meaning: String
    let rules: SettingRules
    /// Secrets are masked wherever they are shown, and not taken from flags, which every user of the machine can see.
    let isSecret: Bool
    /// The default in words, where it depends on the machine or the environment.
    let defaultInWords: String?
    /// The text of the present value; nil when there is none.
    let text: @Sendable (Values) -> String?
    /// Reads a text into its place. Returns false when the text is not what is expected.
    let read: @Sendable (String, inout Values) -> Bool

    /// A setting that always has a value.
    package init<Value>(
        _ name: String, _ place: any WritableKeyPath<Values, Value> & Sendable, _ kind: SettingKind<Value>,
        defaultInWords: String? = nil, _ meaning: String
    ) {
        (self.name, self.meaning, self.defaultInWords) = (name, meaning, defaultInWords)
        (rules, isSecret) = (kind.rules, false)
        text = { kind.format($0[keyPath: place]) }
        read = { text, values in kind.parse(text).map { values[keyPath: place] = $0 } != nil }
    }

    /// A setting that may be absent.
    package init<Value>(
        _ name: String, _ place: any WritableKeyPath<Values, Value?> & Sendable, _ kind: SettingKind<Value>,
        defaultInWords: String? = nil, isSecret: Bool = false, _ meaning: String
    ) {
        (self.name, self.meaning, self.defaultInWords) = (name, meaning, defaultInWords)
        (rules, self.isSecret) = (kind.rules, isSecret)
        text = { $0[keyPath: place].map(kind.format) }
        read = { text, values in kind.parse(text).map { values[keyPath: place] = $0 } != nil }
    }
}

/// The values of a program's settings, before they are checked against each other.
package protocol SettingValues: Sendable {
    /// The values that hold when nobody gave any.
    init()
    /// The settings, in the order in which they are shown; `environment` first.
    static var settings: [Setting<Self>] { get }

    var environment: DeploymentEnvironment { get set }
    var logLevel: LogLevel { get set }
    /// The folder of the database.
    var folder: String? { get set }
}

extension SettingValues {
    /// The settings of every program.
    package static var commonSettings: [Setting<Self>] {
        [
            Setting(
                "environment", \Self.environment, .choice, "Environment that selects the adapters and the defaults."),
            Setting(
                "log.level", \Self.logLevel, .choice, defaultInWords: "by environment",
                "Lowest level of the messages written to standard error."),
        ]
    }
}

/// The levels of the log, least serious first.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    /// Every step, for finding an error in the program.
    case trace
    /// Details for finding the cause of a problem.
    case debug
    /// Ordinary events.
    case info
    /// Rare events that an operator may want to know of.
    case notice
    /// Problems that the program handles itself.
    case warning
    /// Failures of an operation.
    case error
    /// Failures that need a person at once.
    case critical
}
