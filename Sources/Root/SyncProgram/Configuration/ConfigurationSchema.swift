/// The JSON Schema of a configuration file, made from the settings. The files in `Schemas/config` are these texts; a
/// test fails when they differ.
package enum ConfigurationSchema {
    /// JSON Schema, draft 2020-12, with a newline at the end.
    package static func text<Values: SettingValues>(_ settings: [Setting<Values>]) -> String {
        var groups: [(name: String, members: [String])] = [("", [#"    "$schema": { "type": "string" }"#])]
        for setting in settings {
            // No name has more than one dot. Settings with the same first word are members of one object.
            let parts = setting.name.split(separator: ".").map(String.init)
            let group = parts.count == 1 ? "" : parts[0]
            if !groups.contains(where: { $0.name == group }) { groups.append((group, [])) }
            let indent = group.isEmpty ? "    " : "        "
            let line = "\(indent)\"\(parts[parts.count - 1])\": \(property(setting, Values()))"
            for index in groups.indices where groups[index].name == group { groups[index].members.append(line) }
        }
        let top = groups[0].members
        let nested = groups.dropFirst().map { group in
            """
                "\(group.name)": {
                  "type": "object",
                  "additionalProperties": false,
                  "properties": {
            \(group.members.joined(separator: ",\n"))
                  }
                }
            """
        }
        return """
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "description": "Flags win over environment variables, which win over this file, which wins over defaults.",
              "type": "object",
              "additionalProperties": false,
              "properties": {
            \((top + nested).joined(separator: ",\n"))
              }
            }

            """
    }

    private static func property<Values>(_ setting: Setting<Values>, _ defaults: Values) -> String {
        var members = [
            ("description", quoted("\(setting.meaning) Takes \(setting.rules.expectation).")),
            ("type", quoted(setting.rules.jsonType)),
        ]
        members += setting.rules.constraints.map { ($0.name, $0.json) }
        if setting.defaultInWords == nil, let text = setting.text(defaults) {
            members.append(("default", setting.rules.jsonType == "string" ? quoted(text) : text))
        }
        return "{ " + members.map { "\"\($0)\": \($1)" }.joined(separator: ", ") + " }"
    }

    /// Returns the text as a JSON string. The texts of the settings contain no control characters, so only quotation
    /// marks and backslashes are escaped.
    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
}
