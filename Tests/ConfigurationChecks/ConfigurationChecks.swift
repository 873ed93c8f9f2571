import Foundation
package import SyncProgram
import Testing

/// Checks that each setting is listed once and `environment` comes first, that each description ends with a period, and
/// that each setting accepts its default value.
package func checkSettings<Values: SettingValues>(_ settings: [Setting<Values>]) {
    #expect(Set(settings.map(\.name)).count == settings.count)
    #expect(settings.first?.name == "environment")
    for setting in settings {
        #expect(setting.meaning.hasSuffix("."), "\(setting.name)")
        var values = Values()
        if let text = setting.text(values) { #expect(setting.read(text, &values), "\(setting.name) = \(text)") }
    }
}

/// Checks that the JSON schema in `Schemas/config` equals the schema that the settings generate, and that its
/// properties are `$schema` and the settings.
///
/// - Parameter program: The program that prints the schema. The failure message names it.
package func checkSchema<Values: SettingValues>(
    _ settings: [Setting<Values>], _ name: String, of program: String
) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let text = ConfigurationSchema.text(settings)
    let file = "Schemas/config/\(name).schema.json"
    let stored = try String(contentsOf: root.appending(path: file), encoding: .utf8)
    #expect(stored == text, "fix it with: \(program) config schema > \(file)")
    var names: Set<String> = []
    func walk(_ value: [String: Any], _ prefix: String) {
        for (name, child) in value["properties"] as? [String: [String: Any]] ?? [:] {
            if child["properties"] != nil { walk(child, prefix + name + ".") } else { names.insert(prefix + name) }
        }
    }
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    walk(try #require(object), "")
    #expect(names == Set(settings.map(\.name)).union(["$schema"]))
}
