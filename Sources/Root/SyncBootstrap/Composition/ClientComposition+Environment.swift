public import Foundation
public import SyncProgram

extension ClientComposition {
    /// Composes a client from the environment variables of this process and the configuration file.
    ///
    /// The variables begin with the name: `TODO_STORE_FOLDER` and `TODO_SERVER_URL` for a program named `todo`, whose file is
    /// `~/.config/todo/config.json` and whose database is in `~/.local/share/todo`. `syncctl config show` lists the keys. The
    /// database is created if it is missing. Nothing is opened before a part is used for the first time.
    ///
    /// - Parameters:
    ///   - variables: the environment variables. Defaults to those of the process.
    ///   - name: the name of the program, in lower case; no two programs share one.
    /// - Throws: `ConfigurationProblem`, which names the setting and what was expected.
    public static func fromEnvironment(
        _ variables: [String: String] = ProcessInfo.processInfo.environment, named name: String = "tombolo"
    ) throws(ConfigurationProblem) -> ClientComposition {
        let sources = try ConfigurationSources(Program(name), variables: variables)
        let configuration = try ResolvedConfiguration<ClientKeys>(sources)
        let recipes = try ClientRecipes.picked(by: configuration.values.environment)
        let settings = try ClientSettings(configuration)
        return ClientComposition(
            settings: settings, recipes: recipes,
            logger: ProgramLog.logger(label: name, level: settings.logLevel), creatingStore: true)
    }
}
