import SyncCore
import SyncModel
import SyncProgram

/// The output of a command that writes records.
enum RecordOutput {
    static func print(
        _ ids: [RecordID], _ schema: ModelSchema, _ verb: String, _ store: any LocalStore, _ terminal: Terminal
    ) throws {
        let effect = verb == "unchanged" ? nil : Terminal.saved
        for id in ids {
            let record = try store.record(schema.collection, .id(id))
            if terminal.isJSON {
                var line: JSONLine
                if let record {
                    line = try RecordShape(schema: schema, store: store).line(record)
                } else {
                    line = JSONLine()
                    line.set("type", schema.collection.rawValue)
                    line.set("id", id.description)
                }
                line.set("result", verb)
                terminal.say(line, after: effect)
            } else {
                let name = record.map { RecordShape.name(of: $0, schema.collection, store.catalog) } ?? id.description
                let suffix: TerminalText = name == id.description ? "" : "  \(terminal.dim("\(id)"))"
                terminal.say("\(verb) \(schema.collection.rawValue) \(name)\(suffix)", after: effect)
            }
        }
    }
}
