/// The settings of a program as help text.
package enum ConfigurationHelp {
    package static func text<Values: SettingValues>(_ settings: [Setting<Values>], _ program: ProgramNames) -> String {
        let defaults = Values()
        let entries = settings.map { setting in
            let fallback = (setting.defaultInWords ?? setting.text(defaults)).map { " Default: \($0)." } ?? ""
            let secret = setting.isSecret ? " Secret." : ""
            let text = "\(setting.meaning) Takes \(setting.rules.expectation).\(fallback)\(secret)"
            return "  \(setting.name)\n" + wrapped(text, indent: "      ")
        }
        let intro = """
            Set a key with a flag (--set KEY=VALUE), with an environment variable (log.level is \
            \(program.variable("log.level"))), or in a JSON file (--config FILE, \(program.fileVariable), or \
            ~/.config/\(program.name)/config.json). Flags win over environment variables, which win over the file, \
            which wins over defaults.
            """
        return "CONFIGURATION\n\(wrapped(intro, indent: "  "))\n\n\(entries.joined(separator: "\n"))"
    }

    /// Returns the text in lines of at most 78 characters, for a terminal with 80 columns.
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
