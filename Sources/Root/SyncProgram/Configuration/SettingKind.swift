/// The kind of value that a setting takes: how it is read and written.
package struct SettingKind<Value: Sendable>: Sendable {
    let rules: SettingRules
    let parse: @Sendable (String) -> Value?
    let format: @Sendable (Value) -> String

    init(
        _ rules: SettingRules, parse: @escaping @Sendable (String) -> Value?,
        format: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.rules = rules
        self.parse = parse
        self.format = format
    }
}

/// The rules of a kind of value, for errors and documents.
struct SettingRules: Sendable {
    /// The expected value: "true or false".
    let expectation: String
    /// The JSON type in the configuration file.
    var jsonType = "string"
    /// Other members of the setting's JSON Schema, with their values as JSON.
    var constraints: [(name: String, json: String)] = []
    var isPath = false
    /// Returns whether an invalid value may contain a password or a token by mistake. An error then does not show the
    /// value.
    var mayHoldSecret: @Sendable (String) -> Bool = { _ in false }
    /// Returns the text to show for a value that may contain secrets.
    var mask: @Sendable (String) -> String = { $0 }
}

extension SettingKind<String> {
    package static let text = SettingKind(SettingRules(expectation: "text"), parse: parseText)

    /// A text of which only parts are secret.
    ///
    /// - Parameter mask: returns the text to show, without the secrets.
    package static func text(masking mask: @escaping @Sendable (String) -> String) -> SettingKind {
        SettingKind(SettingRules(expectation: "text", mayHoldSecret: { _ in true }, mask: mask), parse: parseText)
    }

    private static let parseText: @Sendable (String) -> String? = { text in
        text.isEmpty || text.utf8.contains { $0 < 32 || $0 == 127 } ? nil : text
    }

    /// A file or a folder; `~/` at the beginning is the home folder.
    package static let path = SettingKind(
        SettingRules(expectation: "a path", isPath: true), parse: { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 })
}

extension SettingKind<Bool> {
    package static let boolean = SettingKind(
        SettingRules(expectation: "true or false", jsonType: "boolean"), parse: { Bool($0) })
}

extension SettingKind<Int> {
    package static func integer(_ range: ClosedRange<Int>, _ unit: String) -> SettingKind {
        SettingKind(
            SettingRules(
                expectation: "a whole number from \(range.lowerBound) to \(range.upperBound) (\(unit))",
                jsonType: "integer",
                constraints: [("minimum", "\(range.lowerBound)"), ("maximum", "\(range.upperBound)")]),
            parse: { Int($0).flatMap { range.contains($0) ? $0 : nil } })
    }
}

extension SettingKind<Duration> {
    package static func duration(_ range: ClosedRange<Duration>) -> SettingKind {
        let (least, most) = (DurationText(range.lowerBound), DurationText(range.upperBound))
        return SettingKind(
            SettingRules(
                expectation: "a duration from \(least) to \(most), such as 500ms, 30s, 5m or 2h",
                constraints: [("pattern", #""^[0-9]+(ms|s|m|h|d)$""#)]),
            parse: { DurationText(parsing: $0).flatMap { range.contains($0.duration) ? $0.duration : nil } },
            format: { DurationText($0).description })
    }
}

extension SettingKind where Value: CaseIterable & RawRepresentable<String> {
    package static var choice: SettingKind {
        let words = Value.allCases.map(\.rawValue)
        return SettingKind(
            SettingRules(
                expectation: "one of " + words.joined(separator: ", "),
                constraints: [("enum", "[" + words.map { "\"\($0)\"" }.joined(separator: ", ") + "]")]),
            parse: { Value(rawValue: $0) }, format: { $0.rawValue })
    }
}

extension SettingKind<ServerAddress> {
    package static let url = SettingKind(
        SettingRules(
            expectation: "a URL such as https://sync.example.org", constraints: [("format", #""uri""#)],
            mayHoldSecret: { text in text.contains { "@?#".contains($0) } }),
        parse: { ServerAddress($0) })
}
