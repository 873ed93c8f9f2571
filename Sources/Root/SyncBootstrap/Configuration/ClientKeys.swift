import SyncCore
import SyncModel
package import SyncProgram
import SyncStoreSQLite
import SyncTransportHTTP

/// The settings of a client, one by one, with their defaults.
package struct ClientKeys: SettingValues {
    package var environment = DeploymentEnvironment.production
    package var logLevel = LogLevel.warning
    package var folder: String?
    var durability = Durability.normal
    var databaseBytes = Int(StoreLimits.databaseBytes)
    var url: ServerAddress?
    var token: String?
    var tokenFile: String?
    var certificateFile: String?
    var connectTimeout = HTTPTransportConfiguration.connectTimeout
    var policy = SyncPolicy()
    var recorderEvents = 0

    package init() {}

    package static let settings: [Setting<Self>] =
        commonSettings + [
            Setting(
                "store.folder", \.folder, .path, defaultInWords: "a folder of the program's name in ~/.local/share",
                "Folder of this device's database."),
            Setting(
                "store.durability", \.durability, .choice,
                "Failures that a returned write survives. normal: a crash of the program. full: also a power loss."),
            Setting(
                "store.database-bytes", \.databaseBytes, .integer(1_048_576...(1 << 50), "bytes"),
                "Maximum size of this device's database for downloads. Local writes continue beyond it."),
            Setting("server.url", \.url, .url, "URL of the sync server. Without it, the device works alone."),
            Setting(
                "server.token", \.token, .text, isSecret: true,
                "Bearer token of this device. Prefer server.token-file."),
            Setting(
                "server.token-file", \.tokenFile, .path,
                "File whose first line is the bearer token of this device."),
            Setting(
                "server.ca-file", \.certificateFile, .path,
                "File of certificates (PEM) to trust instead of the system's."),
            Setting(
                "server.connect-timeout", \.connectTimeout, .duration(.milliseconds(100) ... .seconds(300)),
                "Longest time to establish a connection."),
            Setting(
                "server.request-timeout", \.policy.requestDeadline, .duration(.seconds(1) ... .seconds(600)),
                "Longest time to wait for a response. Over a slow link, a device waits longer."),
            Setting(
                "sync.poll-interval", \.policy.pollInterval, .duration(.seconds(1) ... .seconds(86_400)),
                "Time between two pulls while no stream of hints is open. While one is open, it is at least 5 minutes."),
            Setting(
                "sync.hints", \.policy.listensForHints, .boolean,
                "Whether to keep a stream of hints open, so that changes arrive at once."),
            Setting(
                "sync.batch-transactions", \.policy.batch.transactions, .integer(1...1_000, "transactions"),
                "Maximum number of transactions in one push."),
            Setting(
                "sync.batch-bytes", \.policy.batch.bytes, .integer(1_024...4_194_304, "bytes"),
                "Maximum size of one push."),
            Setting(
                "sync.page-rows", \.policy.pageRows, .integer(1...10_000, "rows"),
                "Maximum number of rows in one page of a pull."),
            Setting(
                "sync.backoff-initial", \.policy.backoff.initial, .duration(.milliseconds(10) ... .seconds(60)),
                "Maximum wait after the first failure. The maximum doubles with each further failure, up to sync.backoff-cap."
            ),
            Setting(
                "sync.backoff-cap", \.policy.backoff.cap, .duration(.milliseconds(100) ... .seconds(3_600)),
                "Longest wait between two attempts."),
            Setting(
                "sync.stop-deadline", \.policy.stopDeadline, .duration(.milliseconds(100) ... .seconds(60)),
                "Longest time that a graceful stop waits for open requests."),
            Setting(
                "recorder.events", \.recorderEvents, .integer(0...100_000, "events"),
                "Number of engine events that the flight recorder keeps, without secrets. 0 turns it off."),
        ]
}
