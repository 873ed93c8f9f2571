/// One setting of a program: its documentation, and the place of its value. The default is the value that `Values()`
/// has there, unless it depends on the environment.
///
/// `config show`, the help texts, and the JSON Schema are generated from the settings, so that they cannot disagree.
package struct Setting<Values: Sendable>: Sendable {
    /// The name, in lower case, with dots between groups and hyphens between words: `server.token-file`.
    package let name: String
    /// The effect of the setting, in sentences.
    package let meaning: String
    let rules: SettingRules
    /// Whether the value is a secret. A secret is masked wherever it is shown. It cannot be given as a flag, because
    /// every user of the machine can see flags.
    let isSecret: Bool
    /// The default in words; nil to show the value of `Values()`.
    let defaultInWords: String?
    /// Returns the text of the current value; nil when there is none.
    package let text: @Sendable (Values) -> String?
    /// Parses a text, and stores the value in its place. Returns false when the text is invalid.
    package let read: @Sendable (String, inout Values) -> Bool

    /// Creates a setting that always has a value.
    package init<Value>(
        _ name: String, _ place: any WritableKeyPath<Values, Value> & Sendable, _ kind: SettingKind<Value>,
        defaultInWords: String? = nil, _ meaning: String
    ) {
        (self.name, self.meaning, self.defaultInWords) = (name, meaning, defaultInWords)
        (rules, isSecret) = (kind.rules, false)
        text = { kind.format($0[keyPath: place]) }
        read = { text, values in kind.parse(text).map { values[keyPath: place] = $0 } != nil }
    }

    /// Creates a setting that may have no value.
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
    /// Creates the default values.
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

/// The levels of log messages, least serious first.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    /// Every step, for finding an error in the program.
    case trace
    /// Details for finding the cause of a problem.
    case debug
    /// Ordinary events.
    case info
    /// Rare events that an operator may want to know about.
    case notice
    /// Problems that the program handles itself.
    case warning
    /// Failures of an operation.
    case error
    /// Failures that need a person immediately.
    case critical
}
