public import TomboloModeling

/// Opens a client, calls `body` with it, and closes it, even if `body` throws.
///
/// ```swift
/// try await withClient("todo", models: [Todo.self], server: "https://todo.example.org") { client in
///     try await client.create(Todo.self) { $0.title = "Milk" }
/// }
/// ```
///
/// The parameters are those of ``Client/open(_:models:server:token:options:)``.
///
/// - Throws: `ClientError` if the client cannot be opened, or the error that `body` throws.
@discardableResult public func withClient<Value>(
    _ name: String, models: [any Model.Type], server: String? = nil,
    token: (@Sendable () async throws -> String?)? = nil, options: ClientOptions = ClientOptions(),
    _ body: (Client) async throws -> Value
) async throws -> Value {
    let client = try await Client.open(name, models: models, server: server, token: token, options: options)
    do {
        let value = try await body(client)
        await client.close()
        return value
    } catch {
        await client.close()
        throw error
    }
}
