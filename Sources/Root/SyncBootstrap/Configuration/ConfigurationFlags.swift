/// The values given on a command line, by named flags and by `--set KEY=VALUE`.
public struct ConfigurationFlags: Sendable {
    public private(set) var values: [String: ConfigurationSources.Given] = [:]

    /// Collects the `--set` values.
    ///
    /// - Throws: when a `--set` is not `KEY=VALUE`, or a key is given twice.
    public init(settings: [String]) throws(ConfigurationProblem) {
        for setting in settings {
            guard let equals = setting.firstIndex(of: "="), equals > setting.startIndex else {
                throw ConfigurationProblem(
                    "--set \(setting): expected KEY=VALUE", advice: "such as --set log.level=debug")
            }
            try add(String(setting[..<equals]), String(setting[setting.index(after: equals)...]), flag: "--set")
        }
    }

    /// Adds the value of a named flag. Does nothing if it is nil.
    public mutating func take(_ value: String?, for key: String, flag: String) throws(ConfigurationProblem) {
        guard let value else { return }
        try add(key, value, flag: flag)
    }

    private mutating func add(_ key: String, _ text: String, flag: String) throws(ConfigurationProblem) {
        if let earlier = values[key] {
            throw ConfigurationProblem("\(key) is given twice, with \(earlier.flag) and \(flag); expected it once")
        }
        values[key] = ConfigurationSources.Given(text, flag: flag)
    }
}
