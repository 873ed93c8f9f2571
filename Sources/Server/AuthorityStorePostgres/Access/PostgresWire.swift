import CPostgres
import Glibc
import SyncAuthority

/// The open connection of libpq, with a bound on the time that the database may be silent.
///
/// libpq's blocking calls would wait forever for a database that accepts bytes and does not respond.
final class PostgresWire {
    let handle: OpaquePointer
    private let silenceLimit: Duration
    /// Whether the database was silent for too long. Its response may still come, so the connection cannot be used
    /// again.
    private var isSilent = false

    /// Takes over a connection, which `deinit` closes.
    init(_ handle: OpaquePointer, silenceLimit: Duration) {
        self.handle = handle
        self.silenceLimit = silenceLimit
        PQsetnonblocking(handle, 1)
    }

    deinit {
        PQfinish(handle)
    }

    var isLost: Bool { isSilent || PQstatus(handle) != CONNECTION_OK }

    /// Sends a request, and returns when the kernel has all its bytes.
    ///
    /// - Parameter send: one of libpq's functions that begin with `PQsend`. Returns 1, or 0 for an error.
    func send(_ send: (OpaquePointer) -> Int32) throws(PostgresError) {
        guard !isSilent else { throw silence }
        guard send(handle) == 1 else { throw PostgresError(connection: handle) }
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                // The database may send something, such as a notice, before it reads more.
                if try wait(for: Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0 { try consume() }
            default: throw PostgresError(connection: handle)
            }
        }
    }

    /// Waits for the next result of the request; nil after the last one, or when the database was silent for too long
    /// before. The caller clears the result.
    func next() throws(PostgresError) -> OpaquePointer? {
        guard !isSilent else { return nil }
        while PQisBusy(handle) == 1 {
            _ = try wait(for: Int16(POLLIN))
            try consume()
        }
        return PQgetResult(handle)
    }

    /// Sends a request, and returns its last result. The caller clears the result.
    ///
    /// - Throws: the first error, after all results were read.
    func results(of request: (OpaquePointer) -> Int32) throws(PostgresError) -> OpaquePointer? {
        try send(request)
        var last: OpaquePointer?
        var failure: PostgresError?
        do throws(PostgresError) {
            while let result = try next() {
                PQclear(last)
                last = result
                let status = PQresultStatus(result)
                if status != PGRES_COMMAND_OK, status != PGRES_TUPLES_OK, failure == nil {
                    failure = PostgresError(result, on: handle)
                }
            }
            if let failure { throw failure }
        } catch {
            PQclear(last)
            throw error
        }
        return last
    }

    private func consume() throws(PostgresError) {
        guard PQconsumeInput(handle) == 1 else { throw PostgresError(connection: handle) }
    }

    /// Waits until one of the events happens, and returns those that did.
    private func wait(for events: Int16) throws(PostgresError) -> Int16 {
        var polled = pollfd(fd: PQsocket(handle), events: events, revents: 0)
        while true {
            let count = poll(&polled, 1, Int32(clamping: silenceLimit.milliseconds))
            if count > 0 { return polled.revents }
            guard count < 0, errno == EINTR else { break }
        }
        isSilent = true
        throw silence
    }

    private var silence: PostgresError {
        PostgresError(.unreachable, "the database has not responded for \(silenceLimit.milliseconds) ms")
    }
}
