import ArgumentParser
import SyncCore
import SyncRecording

/// Runs a recording from a device through the state machines of this build.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Show a recording, and check that this build acts the same.",
        discussion: """
            Needs no database and no server. Times are seconds on the device's clock since the first event of each start.
            """)

    @Argument(help: "File written by syncctl recording export. - reads standard input.", completion: .file())
    var file: String
    @Flag(help: "Print JSON, one object per line.") var json = false
    @Flag(help: "Print only the result.") var quiet = false

    func run() async throws {
        let terminal = Terminal(isJSON: json, variables: GlobalOptions.processVariables)
        let input = try ImportInput(file: file)
        let recording: Recording
        do throws(RecordingError) {
            recording = try RecordingFile.recording(input.bytes)
        } catch {
            throw CommandError(
                .noInput, "\(input.name): \(error)",
                advice: error.code == .newer
                    ? "use a newer build of syncctl" : "syncctl recording export writes recordings")
        }
        let timeline = ReplayTimeline(terminal: terminal)
        var replay = Replay()
        var began = Duration.zero
        var first: Replay.Difference?
        for entry in recording.entries {
            let (step, difference) = replay.follow(entry)
            if case .start(let start) = step, !start.continues { began = start.at }
            if !quiet { timeline.show(step, since: began, difference) }
            if first == nil { first = difference }
        }
        timeline.end(turns: recording.turnCount, first)
        if first != nil { throw CommandExitStatus.different }
    }
}
