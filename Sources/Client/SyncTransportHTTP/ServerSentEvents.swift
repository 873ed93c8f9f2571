/// An incremental parser of event streams (WHATWG HTML §9.2), limited to what hints need.
package struct ServerSentEvents {
    package struct Event: Equatable {
        package internal(set) var name: [UInt8] = []
        package internal(set) var data: [UInt8] = []
    }

    /// The error for a line that is longer than any that a hint needs.
    package struct LineTooLong: Error {}

    private var line: [UInt8] = []
    private var event = Event()
    private var followsCarriageReturn = false

    package init() {}

    /// Returns the events that end within `bytes`.
    package mutating func consume(_ bytes: some Sequence<UInt8>) throws(LineTooLong) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            let endsPair = followsCarriageReturn && byte == UInt8(ascii: "\n")
            followsCarriageReturn = byte == UInt8(ascii: "\r")
            if endsPair { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                guard line.count + event.data.count < HTTPTransportLimits.eventLineBytes else { throw LineTooLong() }
                line.append(byte)
                continue
            }
            if let finished = endLine() { events.append(finished) }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else {
            defer { event = Event() }
            return event.data.isEmpty ? nil : event
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = colon < line.endIndex ? line[(colon + 1)...] : []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": event.name = Array(value)
        case "data": event.data += (event.data.isEmpty ? [] : [UInt8(ascii: "\n")]) + value
        default: break
        }
        return nil
    }
}
