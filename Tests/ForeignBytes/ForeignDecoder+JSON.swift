import SyncJSON

extension ForeignDecoder {
    /// The scanner that reads all JSON. Reading, skipping, and verbatim reading must accept the same texts.
    static let json: [ForeignDecoder] = [
        ForeignDecoder(
            "json",
            seeds: {
                [
                    #"{"a":[1,-2.5e3,true,null,"\u00e9\n😀"],"b":{}}"#, "[[[]]]", "18446744073709551615",
                    #""\ud83d\ude00""#,
                ]
                .map { Array($0.utf8) }
            },
            check: { bytes in
                let tree = try? JSONValue(bytes)
                let isSkipped = (try? JSONReader.read(bytes) { (reader) throws(JSONError) in try reader.skip() }) != nil
                guard isSkipped == (tree != nil) else {
                    throw PropertyViolation(
                        "a value that is \(isSkipped ? "skipped" : "read") cannot be read and skipped")
                }
                guard let tree else { return }
                try requireRoundTrip(of: tree, decode: { try JSONValue($0) }, encode: { Array($0.text.utf8) })
                let text = try? JSONReader.read(bytes) { (reader) throws(JSONError) in try reader.verbatim() }
                guard let text, (try? JSONValue(Array(text.utf8))) == tree else {
                    throw PropertyViolation("a value differs from its own text")
                }
            })
    ]
}
