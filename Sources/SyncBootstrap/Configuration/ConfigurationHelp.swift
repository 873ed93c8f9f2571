/// The keys of a program as help text.
public enum ConfigurationHelp {
    public static func text(for program: Program) -> String {
        let keys = ConfigurationKeys.all.filter { $0.programs.contains(program) }
        let width = keys.map(\.name.count).max() ?? 0
        let lines = keys.map { key in
            let name = key.name + String(repeating: " ", count: width - key.name.count)
            let fallback = key.defaultValue == .none ? "" : " Default: \(key.defaultValue.words)."
            let secret = key.isSecret ? " Secret." : ""
            return "  \(name)  \(key.meaning) Takes \(key.kind.expectation).\(fallback)\(secret)"
        }
        return """
            CONFIGURATION
              A key can be given as a flag (--set KEY=VALUE), as an environment variable (server.url is
              TOMBOLO_SERVER_URL), or in a JSON file (--config FILE, TOMBOLO_CONFIG, ~/.config/tombolo/config.json).
              Flags win over variables, variables over the file, the file over defaults.

            \(lines.joined(separator: "\n"))
            """
    }
}
