public import Foundation

extension ClientComposition {
    /// Composes a client from the environment variables of this process and the configuration file.
    ///
    /// The variables are those that `syncctl config show` lists, such as `TOMBOLO_STORE_FOLDER` and
    /// `TOMBOLO_SERVER_URL`. The database is created if it is missing. Nothing is opened until a part is used for the
    /// first time.
    ///
    /// - Parameter variables: the environment variables. Defaults to those of the process.
    /// - Throws: `ConfigurationProblem`, which names the setting and what was expected.
    public static func fromEnvironment(
        _ variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ConfigurationProblem) -> ClientComposition {
        let sources = try ConfigurationSources(
            flags: [:], variables: variables, file: try ConfigurationFile.find(named: nil, variables: variables))
        let configuration = try ResolvedConfiguration(sources, for: .syncctl)
        let settings = try ClientSettings(configuration)
        return ClientComposition(
            settings: settings, recipes: try ClientRecipes.picked(by: configuration.environment),
            logger: ProgramLog.logger(label: "tombolo", level: settings.logLevel), creatingStore: true)
    }
}
