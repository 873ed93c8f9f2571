import Configuration

/// The sources of values, strongest first: flags, environment variables, the configuration file.
public struct ConfigurationSources: Sendable {
    /// The values from the command line by key name, each with the flag that gave it.
    let flags: [String: Given]
    let variables: [String: String]
    let file: ConfigurationFile?
    let homeFolder: String?

    /// A value from the command line.
    public struct Given: Hashable, Sendable {
        public let text: String
        /// The flag that gave it, such as `--server`.
        public let flag: String

        public init(_ text: String, flag: String) {
            self.text = text
            self.flag = flag
        }
    }

    /// Creates the sources, and checks that all names are known.
    ///
    /// - Parameters:
    ///   - flags: the values from the command line, by key name.
    ///   - variables: all environment variables of the process. Those that begin with `TOMBOLO_` belong to Tombolo.
    /// - Throws: when a name is not a key, with the key that may have been meant.
    public init(
        flags: [String: Given], variables: [String: String], file: ConfigurationFile?
    ) throws(ConfigurationProblem) {
        self.flags = flags
        self.variables = variables
        self.file = file
        homeFolder = variables["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        try refuseUnknownNames()
    }

    private func refuseUnknownNames() throws(ConfigurationProblem) {
        let names = ConfigurationKeys.all.map(\.name)
        for name in flags.keys.sorted() where !names.contains(name) {
            throw Self.unknown("key \(name) (\(flags[name]?.flag ?? "--set"))", meant: name, among: names)
        }
        let known = Set(ConfigurationKeys.all.map(\.variable)).union(Self.otherVariables)
        for variable in variables.keys.sorted()
        where variable.hasPrefix(KeyDescription.variablePrefix + "_") && !known.contains(variable) {
            throw Self.unknown("environment variable \(variable)", meant: variable, among: known.sorted())
        }
        if let file {
            for name in file.values.keys.sorted() where !names.contains(name) {
                throw Self.unknown("key \(name) in \(file.path)", meant: name, among: names)
            }
        }
    }

    /// Tombolo's variables that are not keys, but say where the keys are.
    static let otherVariables: Set<String> = [ConfigurationFile.variable]

    private static func unknown(_ what: String, meant word: String, among names: [String]) -> ConfigurationProblem {
        let suggestion = NearestName.suggestion(for: word, among: names)
        return ConfigurationProblem(
            "there is no \(what)",
            advice: suggestion.map { "did you mean \($0)?" }
                ?? "syncctl config show lists the keys of clients, syncd config those of a server")
    }

    // MARK: Lookup

    /// A given value and its source.
    struct Found {
        let text: String
        let source: ValueSource
    }

    /// Returns the value of a key from the strongest source; nil when no source gives one.
    ///
    /// Flags and variables are read as text, the file as the key's own type: there, `"30"` is not a number.
    func find(_ key: KeyDescription) throws(ConfigurationProblem) -> Found? {
        let name = AbsoluteConfigKey(key.name.split(separator: ".").map(String.init))
        if let given = flags[key.name] {
            guard !key.isSecret else {
                throw ConfigurationProblem(
                    "\(key.name) is a secret, and every user of this machine can see the flags of a program",
                    advice: "give it as \(key.variable) or in a file")
            }
            return Found(text: given.text, source: .flag(given.flag))
        }
        let environment = EnvironmentVariablesProvider(environmentVariables: variables)
        let prefixed = AbsoluteConfigKey([KeyDescription.variablePrefix.lowercased()] + name.components)
        if let text = Self.text(in: environment, prefixed, .string) {
            return Found(text: text, source: .variable(key.variable))
        }
        guard let file, let value = file.values[key.name] else { return nil }
        let provider = InMemoryProvider(name: file.path, values: [name: value])
        guard let text = Self.text(in: provider, name, key.kind.configType) else {
            throw ConfigurationProblem(
                "\(key.name) in \(file.path): expected \(key.kind.expectation), as JSON \(key.kind.jsonType)")
        }
        return Found(text: text, source: .file(file.path))
    }

    /// Returns the value as text; nil when there is none of this type.
    private static func text(in provider: some ConfigProvider, _ key: AbsoluteConfigKey, _ type: ConfigType) -> String?
    {
        guard let result = try? provider.value(forKey: key, type: type) else { return nil }
        switch result.value?.content {
        case .string(let text): return text
        case .int(let number): return String(number)
        case .bool(let bool): return String(bool)
        case .double, .bytes, .stringArray, .intArray, .doubleArray, .boolArray, .byteChunkArray, nil: return nil
        }
    }
}

/// The source that gave a value.
public enum ValueSource: Hashable, Sendable, CustomStringConvertible {
    case flag(String)
    case variable(String)
    case file(String)
    case byDefault

    public var description: String {
        switch self {
        case .flag(let flag): flag
        case .variable(let name): "$\(name)"
        case .file(let path): path
        case .byDefault: "default"
        }
    }
}

extension ValueKind {
    var configType: ConfigType {
        switch self {
        case .boolean: .bool
        case .integer: .int
        case .text, .path, .url, .choice, .duration: .string
        }
    }

    /// The name of the type in JSON and in JSON Schema.
    var jsonType: String {
        switch self {
        case .boolean: "boolean"
        case .integer: "integer"
        case .text, .path, .url, .choice, .duration: "string"
        }
    }
}
