import Logging

/// Passes each log line to a closure as text, with all of its metadata.
struct RecordingLogHandler: LogHandler {
    let keep: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(keep: @escaping @Sendable (String) -> Void) {
        self.keep = keep
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        keep(
            "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")")
    }
}
