/// Gathers the values that a command line gives: those of named flags, and those of `--set KEY=VALUE`.
package struct ConfigurationFlags: Sendable {
    private(set) var values: [String: GivenValue] = [:]

    package init() {}

    /// Takes the values of `--set`.
    ///
    /// - Throws: for a value that is not `KEY=VALUE`, and for a key that is given twice.
    package init(settings: [String]) throws(ConfigurationError) {
        for setting in settings {
            guard let equals = setting.utf8.firstIndex(of: UInt8(ascii: "=")), equals > setting.startIndex else {
                throw ConfigurationError(
                    "--set \(setting): expected KEY=VALUE", advice: "such as --set log.level=debug")
            }
            let value = String(setting[setting.utf8.index(after: equals)...])
            try take(value, for: String(setting[..<equals]), flag: "--set")
        }
    }

    /// Takes the value of a flag; nil when it was not given.
    package mutating func take(_ value: String?, for name: String, flag: String) throws(ConfigurationError) {
        guard let value else { return }
        if let earlier = values.updateValue(GivenValue(text: value, source: .flag(flag)), forKey: name) {
            throw ConfigurationError("\(name) is given twice, with \(earlier.source) and \(flag); expected it once")
        }
    }
}
