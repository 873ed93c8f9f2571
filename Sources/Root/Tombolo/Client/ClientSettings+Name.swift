import SyncBootstrap

extension ClientSettings {
    /// Resolves the settings of a client: arguments first, then environment variables, then the configuration file.
    ///
    /// - Parameters:
    ///   - name: The name of the application, which names its folder.
    ///   - server: The URL of the server; nil for the configured one.
    static func resolve(
        name: String, server: String?, options: ClientOptions
    ) throws(ConfigurationProblem) -> ClientSettings {
        var flags: [String: ConfigurationSources.Given] = [:]
        if let server { flags["server.url"] = .init(server, flag: "server:") }
        if let folder = options.folder {
            flags["store.folder"] = .init(folder, flag: "options.folder")
        } else if let folder = usualFolder(of: name, options.variables) {
            flags["store.folder"] = .init(folder, flag: "the name '\(name)'")
        }
        let file = try ConfigurationFile.find(named: nil, variables: options.variables)
        let sources = try ConfigurationSources(flags: flags, variables: options.variables, file: file)
        return try ClientSettings(try ResolvedConfiguration(sources, for: .syncctl))
    }

    /// The folder of an application without a configured one; nil if the configuration decides.
    private static func usualFolder(of name: String, _ variables: [String: String]) -> String? {
        guard variables["TOMBOLO_STORE_FOLDER"] == nil, variables["TOMBOLO_CONFIG"] == nil else { return nil }
        if let data = variables["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/\(name)" }
        return variables["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.local/share/\(name)" }
    }
}
