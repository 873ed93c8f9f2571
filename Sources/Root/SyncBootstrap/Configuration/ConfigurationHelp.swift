/// The help text about a program's configuration keys.
public enum ConfigurationHelp {
    public static func text(for program: Program) -> String {
        let keys = ConfigurationKeys.all.filter { $0.programs.contains(program) }
        let entries = keys.map { key in
            let fallback = key.defaultValue == .none ? "" : " Default: \(key.defaultValue.words)."
            let secret = key.isSecret ? " Secret." : ""
            let text = "\(key.meaning) Takes \(key.kind.expectation).\(fallback)\(secret)"
            return "  \(key.name)\n" + wrapped(text, indent: "      ")
        }
        return """
            CONFIGURATION
              A key is given as a flag (--set KEY=VALUE), as an environment variable
              (server.url is TOMBOLO_SERVER_URL), or in a JSON file: --config FILE,
              TOMBOLO_CONFIG or ~/.config/tombolo/config.json. Flags win over variables,
              variables over the file, the file over defaults.

            \(entries.joined(separator: "\n"))
            """
    }

    /// Wraps text for a terminal of 80 columns.
    private static func wrapped(_ text: String, indent: String) -> String {
        var lines: [String] = []
        var line = indent
        for word in text.split(separator: " ") {
            if line.count + word.count + 1 > 78, line != indent {
                lines.append(line)
                line = indent
            }
            line += (line == indent ? "" : " ") + word
        }
        return (lines + [line]).joined(separator: "\n")
    }
}
