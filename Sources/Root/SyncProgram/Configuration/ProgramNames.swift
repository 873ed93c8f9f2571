/// The names that follow from the name of a program: its folder, its configuration file, and its environment variables.
///
/// Programs with different names have different folders and files. Names that differ only in hyphens share their
/// variables.
package struct ProgramNames: Hashable, Sendable {
    /// The name of the executable: `todo-server`.
    package let name: String
    /// The program whose command `config show` lists the settings. Applications need no such command: they have the
    /// settings of `syncctl`.
    private let lister: String

    /// - Parameter lister: nil if the program has the command `config show` itself.
    package init(_ name: String, settingsListedBy lister: String? = nil) {
        self.name = name
        self.lister = lister ?? name
    }

    /// The advice about an unknown setting, at the end of a message.
    var listsKeys: String { "\(lister) config show lists the keys" }

    /// The prefix of the program's environment variables: `TODOSERVER_`.
    ///
    /// Hyphens are left out, so that the variables of `todo` (`TODO_SERVER_URL`) are never mistaken for those of
    /// `todo-server`.
    var variablePrefix: String { name.uppercased().filter { $0.isLetter || $0.isNumber } + "_" }

    /// The variable of a setting: `TODOSERVER_LISTEN_PORT`.
    package func variable(_ setting: String) -> String {
        variablePrefix + String(setting.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }

    /// The variable that names the configuration file.
    package var fileVariable: String { variable("config") }

    /// The configuration file that is read when none is named; nil if neither XDG_CONFIG_HOME nor HOME is set.
    func configurationFile(_ variables: [String: String]) -> String? {
        Self.folder("XDG_CONFIG_HOME", ".config", variables).map { "\($0)/\(name)/config.json" }
    }

    /// The folder of the program's database when none is named; nil if neither XDG_DATA_HOME nor HOME is set.
    func dataFolder(_ variables: [String: String]) -> String? {
        Self.folder("XDG_DATA_HOME", ".local/share", variables).map { "\($0)/\(name)" }
    }

    /// Returns the path with a leading `~` replaced by the home folder.
    static func expanded(_ path: String, _ variables: [String: String]) throws(ConfigurationError) -> String {
        guard path == "~" || path.hasPrefix("~/") else { return path }
        guard let home = variables["HOME"], !home.isEmpty else {
            throw ConfigurationError("\(path): ~ cannot be expanded, because the variable HOME is not set")
        }
        return home + path.dropFirst()
    }

    /// Throws if a variable that the program reads has bytes that are not UTF-8. Foundation has replaced them with
    /// U+FFFD, so the value would name another file.
    func requireReadable(_ variables: [String: String]) throws(ConfigurationError) {
        let shared = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
        let unreadable = variables.filter { name, value in
            (shared.contains(name) || name.hasPrefix(variablePrefix)) && value.unicodeScalars.contains("\u{FFFD}")
        }
        guard let name = unreadable.keys.min() else { return }
        throw ConfigurationError(
            "the environment variable \(name) is not UTF-8",
            advice: "set the encoding of the terminal or the script to UTF-8")
    }

    private static func folder(_ variable: String, _ usual: String, _ variables: [String: String]) -> String? {
        if let folder = variables[variable], folder.hasPrefix("/") { return folder }
        return variables["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/\(usual)" }
    }
}
