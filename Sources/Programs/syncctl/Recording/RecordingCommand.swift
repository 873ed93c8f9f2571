import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncProgram
import SyncRecording

/// Shows, exports, and clears the recording of the flight recorder.
struct RecordingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recording",
        abstract: "Export or clear the last events of the engine, as recorder.events keeps them.",
        subcommands: [RecordingStatus.self, ExportRecording.self, ClearRecording.self],
        defaultSubcommand: RecordingStatus.self)
}

struct RecordingStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the number of recorded events, and the time of the first.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.withClient { client in
            let terminal = options.terminal
            let capacity = client.settings.recorderEvents
            let recordings = try client.recordings
            let summary = try recordings.recordingSummary()
            let since = RingReader(try recordings.recording()).firstStart
            if terminal.isJSON {
                var line = JSONLine()
                line.set("capacity", capacity)
                line.set("events", summary.turns)
                line.set("segments", summary.segments)
                line.set("bytes", summary.bytes)
                line.set("since", since.map(TimeText.text))
                terminal.say(line)
            } else {
                terminal.say(
                    capacity == 0
                        ? "the recorder is off (recorder.events is 0)" : "the recorder keeps up to \(capacity) events")
                if let since {
                    terminal.say("\(summary.turns) events since \(TimeText.text(since)), \(summary.bytes) bytes")
                } else {
                    terminal.say("nothing is recorded")
                }
            }
        }
    }
}

struct ClearRecording: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Delete the recorded events.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.withClient { client in
            let recordings = try client.recordings
            let turns = try recordings.recordingSummary().turns
            try recordings.clearRecording()
            if options.json {
                var line = JSONLine()
                line.set("forgotten", turns)
                options.terminal.say(line)
            } else {
                options.terminal.say("\(turns) events forgotten")
            }
        }
    }
}
