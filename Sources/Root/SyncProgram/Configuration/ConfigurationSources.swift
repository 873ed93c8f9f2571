import SyncModel

/// The sources of the values of settings. Flags take precedence over environment variables, and these over the file.
package struct ConfigurationSources: Sendable {
    let program: ProgramNames
    let flags: [String: GivenValue]
    let variables: [String: String]
    let file: ConfigurationFile?

    /// - Parameter variables: all environment variables of the process.
    package init(
        _ program: ProgramNames, flags: ConfigurationFlags = ConfigurationFlags(), variables: [String: String],
        file: ConfigurationFile?
    ) {
        self.program = program
        self.flags = flags.values
        self.variables = variables
        self.file = file
    }

    /// Reads the configuration file that `path` or the environment variable names, or else the file at the usual path
    /// if it exists.
    package init(
        _ program: ProgramNames, flags: ConfigurationFlags = ConfigurationFlags(), variables: [String: String],
        fileNamed path: String? = nil
    ) throws(ConfigurationError) {
        try program.requireReadable(variables)
        let file = try ConfigurationFile.find(named: path, program, variables)
        self.init(program, flags: flags, variables: variables, file: file)
    }

    /// Returns the value of a setting from the source with the highest precedence; nil if no source has one.
    func value(of name: String) -> GivenValue? {
        let variable = program.variable(name)
        return flags[name]
            ?? variables[variable].map { GivenValue(text: $0, source: .variable(variable)) }
            ?? file?.values[name]
    }

    /// Checks that every given name is the name of a setting.
    ///
    /// - Throws: for the first unknown name, with the most similar known name as advice.
    func refuseUnknownNames(_ names: [String]) throws(ConfigurationError) {
        for (name, given) in flags.sorted(by: { $0.key < $1.key }) {
            try require(name, among: names, "key \(name) (\(given.source))")
        }
        for name in variables.keys.sorted() where name.hasPrefix(program.variablePrefix) {
            try require(
                name, among: names.map(program.variable) + [program.fileVariable], "environment variable \(name)")
        }
        guard let file else { return }
        for (name, given) in file.values.sorted(by: { $0.key < $1.key }) {
            if let inner = names.first(where: { $0.hasPrefix(name + ".") }) {
                let type = given.jsonType ?? "string"
                throw ConfigurationError(
                    "\(name) in \(file.path) is \(type.withArticle); expected an object, such as {\"\(name)\": {\"\(inner.dropFirst(name.count + 1))\": …}}",
                    advice: program.listsKeys)
            }
            try require(name, among: names, "key \(name) in \(file.path)")
        }
        // The values in a section have been checked above. This finds sections without values.
        let sections = names.flatMap(Self.sections)
        for name in file.sections.sorted() {
            guard !names.contains(name) else {
                throw ConfigurationError(
                    "\(name) in \(file.path) is an object; expected a string, a whole number, true or false",
                    advice: program.listsKeys)
            }
            try require(name, among: sections + names, "key \(name) in \(file.path)")
        }
    }

    /// Returns the objects that hold a setting in a file: `a` and `a.b` for `a.b.c`.
    private static func sections(of name: String) -> [String] {
        let words = name.split(separator: ".")
        return words.indices.dropFirst().map { words[..<$0].joined(separator: ".") }
    }

    private func require(_ name: String, among names: [String], _ what: String) throws(ConfigurationError) {
        guard !names.contains(name) else { return }
        let nearest = NearestName.suggestion(for: name, among: names)
        throw ConfigurationError(
            "there is no \(what)",
            advice: nearest.map { "did you mean \($0)?" } ?? program.listsKeys)
    }
}

/// A value as it was given, and its source.
package struct GivenValue: Hashable, Sendable {
    package let text: String
    package let source: ValueSource
    /// The JSON type of a value in a file, where `"30"` is not a number; nil for other sources, whose values are all
    /// text.
    package var jsonType: String?
}

/// The source that gave a value.
package enum ValueSource: Hashable, Sendable, CustomStringConvertible {
    case flag(String)
    case variable(String)
    case file(String)
    case byDefault

    package var description: String {
        switch self {
        case .flag(let flag): flag
        case .variable(let name): "$\(name)"
        case .file(let path): path
        case .byDefault: "default"
        }
    }
}

extension String {
    /// The name of a JSON type with its article.
    var withArticle: String { hasPrefix("i") || hasPrefix("o") ? "an \(self)" : "a \(self)" }
}
