/// All settings of a program, each with its value and the source of the value.
package struct ResolvedConfiguration<Values: SettingValues>: Sendable {
    package let program: ProgramNames
    package let values: Values
    /// One entry per setting, in the order of the settings.
    package let entries: [Entry]

    package struct Entry: Hashable, Sendable {
        package let name: String
        /// The text that may be shown: secrets are masked. Nil when the setting is not set and has no default.
        package let shownText: String?
        package let source: ValueSource
    }

    /// Reads every setting, so that an invalid value is reported at the start even if it is not used.
    ///
    /// - Throws: for the first unknown name or invalid value, with its source and what was expected.
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
                    name: setting.name, shownText: text.map { setting.isSecret ? "********" : setting.rules.mask($0) },
                    source: given?.source ?? .byDefault))
            // `environment` is the first setting, because it determines the defaults of others.
            guard setting.name == "environment" else { continue }
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
        if setting.isSecret, case .file(let path) = given.source, let permissions = sources.file?.openPermissions {
            throw ConfigurationError(
                "\(setting.name) is a secret, and others may read \(path) (permissions \(String(permissions, radix: 8))); expected 600",
                advice: "chmod 600 \(path)")
        }
        let text = setting.rules.isPath ? try ProgramNames.expanded(given.text, sources.variables) : given.text
        guard setting.read(text, &values) else {
            let isShown = !setting.isSecret && !setting.rules.mayHoldSecret(given.text)
            let shown = isShown ? "'\(given.text.prefix(80))'" : "the value"
            throw ConfigurationError(
                "\(setting.name) (\(given.source)): \(shown) is not \(setting.rules.expectation)")
        }
    }

    /// Throws if a setting is given although it has no effect. Its user would believe that it had one.
    ///
    /// - Parameter other: The setting without which it has none, and which is not set.
    package func refuse(_ name: String, without other: String) throws(ConfigurationError) {
        guard let entry = entries.first(where: { $0.name == name }), entry.source != .byDefault else { return }
        throw ConfigurationError(
            "\(name) (\(entry.source)) has no effect, because \(other) is not set",
            advice: "set \(other), or remove \(name)")
    }

    /// Returns the value of a setting that may have no default in this environment.
    ///
    /// - Throws: when the setting has no value.
    package func required<Value>(_ value: Value?, _ name: String) throws(ConfigurationError) -> Value {
        guard let value else {
            throw ConfigurationError(
                "\(name) is not set",
                advice: "give it as --set \(name)=…, as \(program.variable(name)), or in the configuration file")
        }
        return value
    }
}
