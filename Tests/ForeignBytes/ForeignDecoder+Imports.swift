import RecordImport
import SyncJSON
import SyncModel
import SyncObjects
import TomboloCommunity
import TomboloModeling

extension ForeignDecoder {
    /// The formats that `syncctl import` reads: JSON Lines, CSV, and accounts.
    static let imports: [ForeignDecoder] = [
        ForeignDecoder(
            "csv",
            seeds: { ["a,b\r\n1,\"x,\"\"y\"\"\r\nz\"\r\n", "\u{FEFF}key,username\nada,Ada\n"].map { Array($0.utf8) } },
            check: { bytes in
                let rows = CSVTable(bytes).compactMap { try? $0.get().cells }
                let again = Array(CSVTable(csv(rows)))
                guard (try? again.map { try $0.get().cells }) == rows else {
                    throw PropertyViolation("rows are not read back as they were written: \(rows)")
                }
            }),
        ForeignDecoder(
            "csv-import",
            seeds: {
                ["key,space,username,avatar\nada,,Ada,@ada\nbob,team,Bob,01890a5d-ac96-774b-bcce-b302099a8057\n"]
                    .map { Array($0.utf8) }
            },
            check: { bytes in
                try requireRows(CSVImport(schema: UserSchema.schema, fallbackKey: "username").read(bytes))
            }),
        ForeignDecoder(
            "json-lines-import",
            seeds: {
                [
                    #"{"type":"users","key":"ada","username":"Ada","avatar":"@ada"}"# + "\n"
                        + #"{"type":"avatars","id":"01890a5d-ac96-774b-bcce-b302099a8057","space":"team","image_url":"https://a/b.png"}"#,
                    #"{"type":"profiles","key":"ada","user":"@ada","full_name":"Ada","uid":3,"pending":true}"#,
                ].map { Array($0.utf8) }
            },
            check: { bytes in try requireRows(jsonLines.read(bytes)) }),
        ForeignDecoder(
            "accounts-import",
            seeds: { ["ada:x:1000:1000:Ada Lovelace,,,:/home/ada:/bin/sh\n"].map { Array($0.utf8) } },
            check: { bytes in
                try requireRows(AccountImport(mapping: accounts, pictureExists: { $0.utf8.count % 2 == 0 }).read(bytes))
            }),
    ]

    private static let jsonLines = JSONLinesImport(
        catalog: CommunityCatalog.catalog, fallbackKeys: [:])

    private static let accounts = AccountMapping(
        user: UserSchema.schema, username: "username", userAvatar: "avatar", profile: ProfileSchema.schema,
        profileUser: "user", fullName: "full_name", avatar: AvatarSchema.schema, image: "image_url", author: "author")

    private static func csv(_ rows: [[String]]) -> [UInt8] {
        let lines = rows.map { cells in
            cells.map {
                "\"" + $0.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
            }
            .joined(separator: ",")
        }
        return Array(lines.map { $0 + "\r\n" }.joined().utf8)
    }

    /// Checks that every valid row can be written as a line of JSON that is read as the same row, and that no
    /// description of a problem is too long.
    private static func requireRows(_ input: ImportedRows) throws {
        for problem in input.problems where problem.reason.utf8.count > 4_096 {
            throw PropertyViolation("a problem of \(problem.reason.utf8.count) bytes")
        }
        for row in input.rows {
            let line = try line(row)
            let again = jsonLines.read(Array(line.utf8))
            guard again.problems.isEmpty, let copy = again.rows.first, again.rows.count == 1 else {
                throw PropertyViolation("a good row is refused as JSON: \(again.problems)\n\(line)")
            }
            guard try isSame(row, copy) else {
                throw PropertyViolation("a row is another one as JSON:\n\(row)\n\(copy)")
            }
        }
    }

    private static func isSame(_ row: ImportRow, _ copy: ImportRow) throws -> Bool {
        try row.collection == copy.collection && row.identity == copy.identity && row.space == copy.space
            && plain(row.patch) == plain(copy.patch)
            && Set(row.links) == Set(copy.links)
    }

    /// Returns the values with all JSON in one form, because a JSON value can be written in several ways.
    private static func plain(_ patch: Patch) throws -> [FieldName: FieldValue] {
        var values: [FieldName: FieldValue] = [:]
        for (field, value) in patch {
            if case .json(let text) = value {
                values[field] = .json(try JSONValue(Array(text.utf8)).text)
            } else {
                values[field] = value
            }
        }
        return values
    }

    private static func line(_ row: ImportRow) throws -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("type")
        writer.string(row.collection.rawValue)
        switch row.identity {
        case .record(let id):
            writer.key("id")
            writer.string(id.description)
        case .key(let key):
            writer.key("key")
            writer.string(key)
        }
        if let space = row.space {
            writer.key("space")
            writer.string(space.rawValue)
        }
        for (field, value) in row.patch {
            writer.key(field.rawValue)
            switch value {
            case .null: writer.null()
            case .boolean(let value): writer.boolean(value)
            case .integer(let value): writer.integer(value)
            case .real(let value): writer.real(value)
            case .text(let text): writer.string(text)
            case .json(let text): writer.verbatim(Array(text.utf8))
            case .reference(let id): writer.string(id.description)
            }
        }
        for link in row.links {
            writer.key(link.field.rawValue)
            writer.string("@" + link.key)
        }
        writer.endObject()
        return writer.text
    }
}
