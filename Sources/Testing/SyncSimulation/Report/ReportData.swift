import SyncJSON

/// A recording as the JSON that the page's script reads.
///
/// Each distinct text is stored once in a table and referred to by its index.
struct ReportData {
    private let recording: WorldRecording
    private var texts: [String] = []
    /// The index of each text, by its bytes. Texts with different bytes are different even if Unicode considers them
    /// equivalent.
    private var places: [[UInt8]: Int] = [:]

    init(_ recording: WorldRecording) {
        self.recording = recording
    }

    /// Returns the JSON in a form that is safe in a `<script>` element: it contains no `<`, so that recorded text
    /// cannot end the element.
    consuming func write() -> [UInt8] {
        let plain = writeJSON()
        var safe: [UInt8] = []
        safe.reserveCapacity(plain.count)
        for byte in plain {
            // JSON has these characters in strings only, where an escape has the same meaning.
            switch byte {
            case UInt8(ascii: "<"): safe.append(contentsOf: Array(#"\u003C"#.utf8))
            case UInt8(ascii: ">"): safe.append(contentsOf: Array(#"\u003E"#.utf8))
            case UInt8(ascii: "&"): safe.append(contentsOf: Array(#"\u0026"#.utf8))
            default: safe.append(byte)
            }
        }
        return safe
    }

    private mutating func writeJSON() -> [UInt8] {
        let parties = recording.parties + ["world"]
        var writer = JSONWriter(reserving: 1 << 20)
        writer.beginObject()
        writer.member("title", recording.title)
        writer.key("failure")
        if let failure = recording.failure { writer.string(failure) } else { writer.null() }
        writer.member("forgotten", recording.forgotten)
        writer.key("facts")
        writer.array(recording.facts) { fact, writer in
            writer.array([fact.name, fact.value]) { $1.string($0) }
        }
        writer.key("parties")
        writer.array(parties) { $1.string($0) }
        writer.key("events")
        write(recording.events, parties, to: &writer)
        writer.key("messages")
        write(recording.messages, parties, to: &writer)
        write(recording.steps, to: &writer)
        writer.key("texts")
        writer.array(texts) { $1.string($0) }
        writer.endObject()
        return writer.bytes
    }

    /// Writes events as [number, time, party, kind, text, detail, message].
    private mutating func write(_ events: [RecordedEvent], _ parties: [String], to writer: inout JSONWriter) {
        writer.beginArray()
        for event in events {
            writer.beginArray()
            writer.moment(event.moment)
            writer.integer(parties.firstIndex(of: event.party) ?? parties.count - 1)
            writer.string(event.kind.rawValue)
            writer.integer(place(of: event.text))
            writer.integer(place(of: event.detail))
            writer.integer(event.message ?? -1)
            writer.endArray()
        }
        writer.endArray()
    }

    /// Writes messages as [id, kind, call, copy, from, to, label, detail, sent number, sent time, end number, end time,
    /// fate, late, damage].
    private mutating func write(_ messages: [RecordedMessage], _ parties: [String], to writer: inout JSONWriter) {
        writer.beginArray()
        for message in messages {
            writer.beginArray()
            writer.integer(message.id)
            writer.string(message.kind.rawValue)
            writer.integer(message.call)
            writer.integer(message.copy)
            writer.integer(parties.firstIndex(of: message.sender) ?? parties.count - 1)
            writer.integer(parties.firstIndex(of: message.receiver) ?? parties.count - 1)
            writer.integer(place(of: message.label))
            writer.integer(place(of: message.detail))
            writer.moment(message.sent)
            if let ended = message.ended {
                writer.moment(ended)
            } else {
                writer.integer(-1)
                writer.integer(-1)
            }
            writer.string(message.fate.rawValue)
            writer.boolean(message.isLate)
            writer.integer(place(of: message.damage ?? ""))
            writer.endArray()
        }
        writer.endArray()
    }

    /// Writes the steps. A step refers to the contents of each party by index, so that equal contents are written once.
    private mutating func write(_ steps: [RecordedStep], to writer: inout JSONWriter) {
        var known: [PlacedHoldings: Int] = [:]
        var distinct: [PlacedHoldings] = []
        writer.key("steps")
        writer.beginArray()
        for step in steps {
            writer.beginArray()
            writer.string(step.name)
            writer.moment(step.moment)
            writer.beginArray()
            for party in recording.parties {
                guard let holdings = step.holdings[party].map({ placed($0) }) else {
                    writer.integer(-1)
                    continue
                }
                let place = known[holdings] ?? distinct.count
                if place == distinct.count {
                    known[holdings] = place
                    distinct.append(holdings)
                }
                writer.integer(place)
            }
            writer.endArray()
            writer.endArray()
        }
        writer.endArray()
        writer.key("holdings")
        writer.beginArray()
        for holdings in distinct { Self.write(holdings, to: &writer) }
        writer.endArray()
    }

    /// The contents of a party, with the indices of their texts.
    private struct PlacedHoldings: Hashable {
        let isUp: Bool
        let facts: [Int]
        let outbox: [Int]
        let unlisted: Int
    }

    private mutating func placed(_ holdings: Holdings) -> PlacedHoldings {
        var facts: [Int] = []
        for fact in holdings.facts { facts += [place(of: fact.name), place(of: fact.value)] }
        var outbox: [Int] = []
        for entry in holdings.outbox { outbox.append(place(of: entry)) }
        return PlacedHoldings(isUp: holdings.isUp, facts: facts, outbox: outbox, unlisted: holdings.unlisted)
    }

    /// Writes contents as [is up, [name, value, name, value …], [entry …], number of entries not listed].
    private static func write(_ holdings: PlacedHoldings, to writer: inout JSONWriter) {
        writer.beginArray()
        writer.boolean(holdings.isUp)
        writer.array(holdings.facts) { $1.integer($0) }
        writer.array(holdings.outbox) { $1.integer($0) }
        writer.integer(holdings.unlisted)
        writer.endArray()
    }

    private mutating func place(of text: String) -> Int {
        let bytes = Array(text.utf8)
        if let place = places[bytes] { return place }
        places[bytes] = texts.count
        texts.append(text)
        return texts.count - 1
    }
}

extension JSONWriter {
    fileprivate mutating func array<Element>(_ elements: [Element], _ write: (Element, inout JSONWriter) -> Void) {
        beginArray()
        for element in elements { write(element, &self) }
        endArray()
    }

    /// Writes a moment as its number and its time in microseconds.
    fileprivate mutating func moment(_ moment: RecordedMoment) {
        integer(moment.number)
        integer(moment.time.wholeMicroseconds)
    }
}
