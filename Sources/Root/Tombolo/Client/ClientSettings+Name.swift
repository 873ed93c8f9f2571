import SyncBootstrap
import SyncProgram

extension ClientSettings {
    /// Resolves the settings of a client: arguments first, then environment variables, then the configuration file.
    ///
    /// - Parameters:
    ///   - name: The name of the application. It determines the names of the folder, the configuration file, and the
    ///     environment variables.
    ///   - server: The URL of the server; nil for the configured URL.
    static func resolve(
        name: String, server: String?, options: ClientOptions
    ) throws(ConfigurationError) -> ClientSettings {
        guard name.utf8.first.map(isLowercaseLetter) ?? false,
            name.utf8.allSatisfy({ isLowercaseLetter($0) || isDigitOrHyphen($0) })
        else {
            throw ConfigurationError(
                "'\(name)' is not a valid client name: the folder, the file, and the variables are named after it",
                advice: "use a lower-case letter, then lower-case letters, digits, and hyphens, such as todo-kiosk")
        }
        var flags = ConfigurationFlags()
        try flags.take(server, for: "server.url", flag: "server:")
        try flags.take(options.folder, for: "store.folder", flag: "options.folder")
        let sources = try ConfigurationSources(
            ProgramNames(name, settingsListedBy: "syncctl"), flags: flags, variables: options.variables)
        return try ClientSettings(ResolvedConfiguration(sources))
    }

    private static func isLowercaseLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    private static func isDigitOrHyphen(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
