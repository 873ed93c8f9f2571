/// All settings of a program with their values: which value each has, and why.
package struct ResolvedConfiguration<Values: SettingValues>: Sendable {
    package let program: ProgramNames
    package let values: Values
    /// In the order of the settings.
    package let entries: [Entry]

    package struct Entry: Hashable, Sendable {
        package let name: String
        /// The text that may be shown: secrets are masked. Nil when nobody gave a value and there is no default.
        package let shownText: String?
        package let source: ValueSource
    }

    /// Reads every setting, even those that are not needed: a wrong value stops the start.
    ///
    /// - Throws: the first unknown name or wrong value, with its source and what was expected.
    package init(_ sources: ConfigurationSources) throws(ConfigurationError) {
        program = sources.program
        try sources.refuseUnknownNames(Values.settings.map(\.name))
        var values = Values()
        var entries: [Entry] = []
        for setting in Values.settings {
            let given = sources.value(of: setting.name)
            if let given { try Self.read(given, setting, sources, into: &values) }
            let text = given?.text ?? setting.text(values)
            entries.append(
                Entry(
                    name: setting.name, shownText: setting.isSecret ? text.map { _ in "********" } : text,
                    source: given?.source ?? .byDefault))
            guard entries.count == 1 else { continue }
            // The environment comes first, and picks the defaults of others.
            values.logLevel = values.environment.choices.logLevel
            if values.environment.choices.usesHomeFolders { values.folder = program.dataFolder(sources.variables) }
        }
        self.values = values
        self.entries = entries
    }

    private static func read(
        _ given: GivenValue, _ setting: Setting<Values>, _ sources: ConfigurationSources, into values: inout Values
    ) throws(ConfigurationError) {
        if let type = given.jsonType, type != setting.rules.jsonType {
            throw ConfigurationError(
                "\(setting.name) in \(given.source) is \(type.withArticle); expected \(setting.rules.expectation), as JSON \(setting.rules.jsonType)"
            )
        }
        if setting.isSecret, case .flag = given.source {
            throw ConfigurationError(
                "\(setting.name) is a secret, and every user of this machine can see the flags of a program",
                advice: "give it as \(sources.program.variable(setting.name)) or in a file")
        }
        let text = setting.rules.isPath ? try expanded(given.text, sources.variables["HOME"]) : given.text
        guard setting.read(text, &values) else {
            let isShown = !setting.isSecret && !setting.rules.mayHoldSecret(given.text)
            let shown = isShown ? "'\(given.text.prefix(80))'" : "the value"
            throw ConfigurationError(
                "\(setting.name) (\(given.source)): \(shown) is not \(setting.rules.expectation)")
        }
    }

    /// A path with the home folder in the place of `~/`.
    private static func expanded(_ path: String, _ home: String?) throws(ConfigurationError) -> String {
        guard path == "~" || path.hasPrefix("~/") else { return path }
        guard let home, !home.isEmpty else {
            throw ConfigurationError("\(path) means the home folder, and the variable HOME is not set")
        }
        return home + path.dropFirst()
    }

    /// A value that has no default in this environment.
    ///
    /// - Throws: when nobody gave it.
    package func required<Value>(_ value: Value?, _ name: String) throws(ConfigurationError) -> Value {
        guard let value else {
            throw ConfigurationError(
                "\(name) is not set",
                advice: "give it as --set \(name)=…, as \(program.variable(name)), or in the configuration file")
        }
        return value
    }
}
