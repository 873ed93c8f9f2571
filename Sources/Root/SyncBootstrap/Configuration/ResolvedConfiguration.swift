/// All keys of one program, with their values and the sources of the values.
public struct ResolvedConfiguration: Sendable {
    public let program: Program
    public let environment: Environment
    /// The entries in the order of `ConfigurationKeys.all`.
    public let entries: [Entry]
    private let homeFolder: String?
    private let dataFolder: String?

    public struct Entry: Hashable, Sendable {
        public let key: KeyDescription
        /// The value; nil when no source gives one and there is no default.
        public let text: String?
        public let source: ValueSource

        /// The value for display. Secrets are masked.
        public var shownText: String? {
            text.map { key.isSecret ? "********" : $0 }
        }
    }

    /// Reads every given value, even those that the program does not need.
    ///
    /// - Throws: for the first invalid value, with its source and what was expected.
    public init(_ sources: ConfigurationSources, for program: Program) throws(ConfigurationProblem) {
        self.program = program
        homeFolder = sources.homeFolder
        dataFolder = sources.variables["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let found = try sources.find(ConfigurationKeys.environment.about)
        environment = try Self.value(of: ConfigurationKeys.environment, found) ?? .production
        var entries: [Entry] = []
        for key in ConfigurationKeys.all {
            let found = try sources.find(key)
            if let found {
                guard key.accepts(found.text) else { throw Self.problem(key, found) }
                // Values of the other program's keys are checked, because both programs may share one file, and then
                // ignored.
                guard key.programs.contains(program) else {
                    if case .file = found.source { continue }
                    if case .variable = found.source { continue }
                    throw ConfigurationProblem(
                        "\(key.name) (\(found.source)) means nothing to \(program.rawValue)",
                        advice: "it is a key of \(key.programs.map(\.rawValue).joined(separator: ", "))")
                }
                entries.append(Entry(key: key, text: found.text, source: found.source))
            } else if key.programs.contains(program) {
                entries.append(
                    Entry(
                        key: key,
                        text: Self.defaultText(of: key, environment, home: homeFolder, data: dataFolder),
                        source: .byDefault))
            }
        }
        self.entries = entries
    }

    private static func defaultText(
        of key: KeyDescription, _ environment: Environment, home: String?, data: String?
    ) -> String? {
        switch key.defaultValue {
        case .none: nil
        case .fixed(let text): text
        case .logLevelOfEnvironment: environment.choices.logLevel
        case .homeFolder(let name):
            environment.choices.usesHomeFolders
                ? data.map { $0 + "/" + name } ?? home.map { $0 + "/.local/share/" + name } : nil
        }
    }

    private static func value<Value>(
        of key: ConfigurationKey<Value>, _ found: ConfigurationSources.Found?
    ) throws(ConfigurationProblem) -> Value? {
        guard let found else { return nil }
        guard let value = key.read(found.text) else { throw problem(key.about, found) }
        return value
    }

    private static func problem(_ key: KeyDescription, _ found: ConfigurationSources.Found) -> ConfigurationProblem {
        // A URL may contain a password or a token by mistake.
        let isSecret = key.isSecret || key.kind == .url && found.text.contains { "@?#".contains($0) }
        let shown = isSecret ? "the value" : "'\(found.text.prefix(80))'"
        return ConfigurationProblem(
            "\(key.name) (\(found.source)): \(shown) is not \(key.kind.expectation)")
    }

    // MARK: Typed values

    /// Returns the value of a key; nil when it has none.
    func optional<Value>(_ key: ConfigurationKey<Value>) -> Value? {
        entries.first { $0.key.name == key.about.name }?.text.flatMap(key.read)
    }

    /// Returns the value of a key.
    ///
    /// - Throws: when no source gives one and there is no default.
    func required<Value>(_ key: ConfigurationKey<Value>) throws(ConfigurationProblem) -> Value {
        guard let value = optional(key) else {
            throw ConfigurationProblem(
                "\(key.about.name) is not set; expected \(key.about.kind.expectation)",
                advice: "give it as --set \(key.about.name)=…, as \(key.about.variable), or in the configuration file")
        }
        return value
    }

    /// Returns a path, with `~/` replaced by the home folder.
    func path(_ key: ConfigurationKey<String>) throws(ConfigurationProblem) -> String {
        try expand(required(key))
    }

    func optionalPath(_ key: ConfigurationKey<String>) throws(ConfigurationProblem) -> String? {
        guard let path = optional(key) else { return nil }
        return try expand(path)
    }

    private func expand(_ path: String) throws(ConfigurationProblem) -> String {
        guard path == "~" || path.hasPrefix("~/") else { return path }
        guard let homeFolder else {
            throw ConfigurationProblem("\(path) means the home folder, and the variable HOME is not set")
        }
        return homeFolder + path.dropFirst()
    }
}
