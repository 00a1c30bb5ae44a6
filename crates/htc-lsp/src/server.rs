//! The protocol: life cycle, requests, notifications and their errors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bstr::ByteSlice;
use htc_base::world::World;
use htc_config::template::Template;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability, CompletionOptions,
    CompletionParams, Diagnostic, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentSymbolParams, DocumentSymbolResponse,
    GotoDefinitionParams, GotoDefinitionResponse, HoverParams, HoverProviderCapability, InitializeParams,
    InitializeResult, Location, MessageType, OneOf, Position, PublishDiagnosticsParams, Range,
    ReferenceParams, ServerCapabilities, ServerInfo, ShowMessageParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::definition::DefinitionTarget;
use crate::documents::Document;
use crate::file_uri::uri_of_path;
use crate::overlay_world::OverlayWorld;
use crate::query::DocumentQuery;
use crate::settings::{ClientSettings, ServerSettings};
use crate::workspace::Workspace;
use crate::{code_actions, completion, definition, diagnostics, hover, references, symbols};

/// State of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerPhase {
    /// `initialize` has not been received.
    Uninitialized,
    /// Requests are answered.
    Running,
    /// `shutdown` has been received.
    ShutDown,
    /// `exit` has been received.
    Exited(ExitKind),
}

/// End of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// `shutdown` preceded `exit`.
    Orderly,
    /// `exit` came without `shutdown`.
    Abrupt,
}

/// Error of a request.
#[derive(Debug)]
struct RequestError {
    code: ErrorCode,
    message: String,
}

impl RequestError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RequestError { code, message: message.into() }
    }
}

type Answer = Result<Value, RequestError>;

/// Section of the editor's configuration that has the settings of this server.
const SETTINGS_SECTION: &str = "htcondor";

/// Language server of one connection.
#[derive(Debug)]
pub struct Server {
    phase: ServerPhase,
    /// Settings from the command line.
    base_settings: ServerSettings,
    version: String,
    workspace: Workspace,
    /// Directory to which templates are written so that the editor can open them, or `None` if templates cannot be
    /// opened.
    template_directory: Option<PathBuf>,
    shows_nested_symbols: bool,
    /// Diagnostics that the editor shows, by URI.
    published: BTreeMap<String, Vec<Diagnostic>>,
    /// URIs of documents that were opened or changed since diagnostics were published.
    changed: BTreeSet<String>,
    has_changes: bool,
}

impl Server {
    /// Creates a server with the settings from the command line. `version` is the version of the program.
    pub fn new(settings: ServerSettings, version: &str, template_directory: Option<PathBuf>) -> Self {
        Server {
            phase: ServerPhase::Uninitialized,
            workspace: Workspace::new(settings.clone(), template_directory.clone()),
            base_settings: settings,
            version: version.to_owned(),
            template_directory,
            shows_nested_symbols: false,
            published: BTreeMap::new(),
            changed: BTreeSet::new(),
            has_changes: false,
        }
    }

    /// Returns the end of the connection, or `None` while it lasts.
    pub fn exit_kind(&self) -> Option<ExitKind> {
        match self.phase {
            ServerPhase::Exited(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns true if `shutdown` has been received.
    pub fn is_shut_down(&self) -> bool {
        matches!(self.phase, ServerPhase::ShutDown | ServerPhase::Exited(ExitKind::Orderly))
    }

    /// Returns true if something has changed since diagnostics were published.
    pub fn has_changes(&self) -> bool {
        self.has_changes && self.phase == ServerPhase::Running
    }

    /// Processes messages that were received together and returns the answers. A request that one of them cancels is not
    /// processed.
    pub fn receive(&mut self, messages: Vec<Message>, world: &dyn World) -> Vec<Message> {
        let cancelled: BTreeSet<RequestId> = messages.iter().filter_map(cancelled_request).collect();
        let mut answers = Vec::new();
        for message in messages {
            match message {
                Message::Request(request) if cancelled.contains(&request.id) => {
                    let text = format!("{} was cancelled", request.method);
                    answers.push(error_response(request.id, ErrorCode::RequestCanceled, text));
                }
                Message::Request(request) => answers.push(self.answer(request, world)),
                Message::Notification(notification) => answers.extend(self.handle_notification(notification)),
                // The server sends no requests.
                Message::Response(_) => {}
            }
            if self.exit_kind().is_some() {
                break;
            }
        }
        answers
    }

    /// Returns the diagnostics of documents that have changed, and of other files if their diagnostics have changed.
    pub fn publish(&mut self, world: &dyn World) -> Vec<Message> {
        self.has_changes = false;
        let world = OverlayWorld::new(world, self.workspace.documents());
        let found = diagnostics::collect_diagnostics(&mut self.workspace, &world);
        let changed = std::mem::take(&mut self.changed);
        let mut current: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        let mut messages = Vec::new();
        for (path, diagnostics) in found {
            let Some(uri) = self.workspace.uri(&path) else { continue };
            let key = uri.as_str().to_owned();
            let is_known = self.published.get(&key) == Some(&diagnostics);
            if changed.contains(&key)
                || !is_known && (!diagnostics.is_empty() || self.published.contains_key(&key))
            {
                let version = self.workspace.documents().get(&uri).map(|document| document.version);
                messages.push(diagnostics_message(uri, diagnostics.clone(), version));
            }
            current.insert(key, diagnostics);
        }
        for (key, old) in std::mem::take(&mut self.published) {
            if !old.is_empty()
                && !current.contains_key(&key)
                && let Ok(uri) = key.parse::<Uri>()
            {
                messages.push(diagnostics_message(uri, Vec::new(), None));
            }
        }
        self.published = current;
        messages
    }

    fn answer(&mut self, request: Request, world: &dyn World) -> Message {
        let Request { id, method, params } = request;
        let answer = match (self.phase, method.as_str()) {
            (ServerPhase::Uninitialized, "initialize") => self.initialize(params),
            (ServerPhase::Uninitialized, _) => Err(RequestError::new(
                ErrorCode::ServerNotInitialized,
                format!("received {method} before initialize"),
            )),
            (ServerPhase::Running, "initialize") => {
                Err(RequestError::new(ErrorCode::InvalidRequest, "received initialize twice"))
            }
            (ServerPhase::Running, "shutdown") => {
                self.phase = ServerPhase::ShutDown;
                Ok(Value::Null)
            }
            (ServerPhase::Running, _) => self.answer_query(&method, params, world),
            (ServerPhase::ShutDown | ServerPhase::Exited(_), _) => {
                Err(RequestError::new(ErrorCode::InvalidRequest, format!("received {method} after shutdown")))
            }
        };
        match answer {
            Ok(result) => Message::Response(Response::new_ok(id, result)),
            Err(error) => error_response(id, error.code, error.message),
        }
    }

    fn initialize(&mut self, params: Value) -> Answer {
        let params: InitializeParams = parse("initialize", params)?;
        if let Some(options) = params.initialization_options.filter(|options| !options.is_null()) {
            let settings = self.read_settings(options).map_err(|text| {
                RequestError::new(ErrorCode::InvalidParams, format!("initializationOptions: {text}"))
            })?;
            self.workspace.set_settings(settings);
        }
        let symbols = params.capabilities.text_document.and_then(|document| document.document_symbol);
        self.shows_nested_symbols =
            symbols.and_then(|symbols| symbols.hierarchical_document_symbol_support).unwrap_or_default();
        self.phase = ServerPhase::Running;
        to_value(InitializeResult {
            capabilities: capabilities(),
            server_info: Some(ServerInfo {
                name: "htc-config-dump lsp".to_owned(),
                version: Some(self.version.clone()),
            }),
        })
    }

    fn read_settings(&self, options: Value) -> Result<ServerSettings, String> {
        let client: ClientSettings = serde_json::from_value(options).map_err(|error| error.to_string())?;
        self.base_settings.with_client_settings(&client)
    }

    /// Answers a request about a document.
    fn answer_query(&mut self, method: &str, params: Value, world: &dyn World) -> Answer {
        match method {
            "textDocument/hover" => {
                let params: HoverParams = parse(method, params)?;
                let at = params.text_document_position_params;
                self.with_query(&at.text_document.uri, world, |query| {
                    to_value(hover::hover(query, at.position))
                })
            }
            "textDocument/completion" => {
                let params: CompletionParams = parse(method, params)?;
                let at = params.text_document_position;
                self.with_query(&at.text_document.uri, world, |query| {
                    to_value(completion::complete(query, at.position))
                })
            }
            "textDocument/definition" => {
                let params: GotoDefinitionParams = parse(method, params)?;
                let at = params.text_document_position_params;
                self.answer_definition(&at.text_document.uri, at.position, world)
            }
            "textDocument/references" => {
                let params: ReferenceParams = parse(method, params)?;
                let at = params.text_document_position;
                let with_definitions = params.context.include_declaration;
                self.with_query(&at.text_document.uri, world, |query| {
                    to_value(references::find_references(query, at.position, with_definitions))
                })
            }
            "textDocument/documentSymbol" => {
                let params: DocumentSymbolParams = parse(method, params)?;
                let is_nested = self.shows_nested_symbols;
                self.with_query(&params.text_document.uri, world, |query| {
                    to_value(match is_nested {
                        true => DocumentSymbolResponse::Nested(symbols::document_symbols(query)),
                        false => DocumentSymbolResponse::Flat(symbols::flat_symbols(query)),
                    })
                })
            }
            "textDocument/codeAction" => {
                let params: CodeActionParams = parse(method, params)?;
                self.list_code_actions(&params, world)
            }
            _ => Err(RequestError::new(
                ErrorCode::MethodNotFound,
                format!("this server does not support the request {method}"),
            )),
        }
    }

    /// Calls `then` with an open document and its current configuration, and returns the answer.
    fn with_query(
        &mut self,
        uri: &Uri,
        world: &dyn World,
        then: impl FnOnce(&DocumentQuery<'_>) -> Answer,
    ) -> Answer {
        let world = OverlayWorld::new(world, self.workspace.documents());
        self.workspace.refresh(&world);
        let document = open_document(&self.workspace, uri)?;
        then(&DocumentQuery::new(&self.workspace, document, &world))
    }

    fn answer_definition(&mut self, uri: &Uri, position: Position, world: &dyn World) -> Answer {
        let mut target = None;
        self.with_query(uri, world, |query| {
            target = definition::find_definition(query, position);
            Ok(Value::Null)
        })?;
        let places = match target {
            None => return Ok(Value::Null),
            Some(DefinitionTarget::Places(places)) => places,
            Some(DefinitionTarget::Template(template)) => self.template_place(template, world)?,
        };
        to_value(GotoDefinitionResponse::Array(places))
    }

    /// Writes the text of a template into a file that the editor can open.
    fn template_place(&self, template: Template, world: &dyn World) -> Result<Vec<Location>, RequestError> {
        let Some(directory) = &self.template_directory else { return Ok(Vec::new()) };
        let title = [template.category(), b":", template.name()].concat();
        let title = title.to_str_lossy();
        let path = directory.join(format!("{}.condor", title.replace(':', "-")));
        let text = format!("# use {title}\n{}\n", template.body().to_str_lossy());
        world.write_file(&path, text.as_bytes()).map_err(|error| {
            let message = format!("cannot write '{}': {error}", path.display());
            RequestError::new(ErrorCode::RequestFailed, message)
        })?;
        let start = Range::new(Position::new(0, 0), Position::new(0, 0));
        Ok(uri_of_path(&path).map(|uri| Location::new(uri, start)).into_iter().collect())
    }

    fn list_code_actions(&mut self, params: &CodeActionParams, world: &dyn World) -> Answer {
        let world = OverlayWorld::new(world, self.workspace.documents());
        self.workspace.check_corrections(&world);
        let document = open_document(&self.workspace, &params.text_document.uri)?;
        let wanted: Option<&[CodeActionKind]> = params.context.only.as_deref();
        to_value(code_actions::code_actions(&self.workspace, document, params.range, wanted, &world))
    }

    /// Processes a notification; returns messages for the user.
    fn handle_notification(&mut self, notification: Notification) -> Option<Message> {
        let Notification { method, params } = notification;
        if method == "exit" {
            let kind = if self.is_shut_down() { ExitKind::Orderly } else { ExitKind::Abrupt };
            self.phase = ServerPhase::Exited(kind);
            return None;
        }
        if self.phase != ServerPhase::Running {
            return None;
        }
        self.apply_notification(&method, params).err().map(|error| show_message(error.message))
    }

    fn apply_notification(&mut self, method: &str, params: Value) -> Result<(), RequestError> {
        match method {
            "textDocument/didOpen" => {
                let DidOpenTextDocumentParams { text_document: item } = parse(method, params)?;
                self.mark_changed(&item.uri);
                self.workspace.open(Document::new(item.uri, item.language_id, item.version, &item.text));
            }
            "textDocument/didChange" => {
                let params: DidChangeTextDocumentParams = parse(method, params)?;
                let uri = params.text_document.uri;
                self.mark_changed(&uri);
                if !self.workspace.change(&uri, params.text_document.version, &params.content_changes) {
                    return Err(not_open_error(&uri));
                }
            }
            "textDocument/didClose" => {
                let params: DidCloseTextDocumentParams = parse(method, params)?;
                let uri = params.text_document.uri;
                self.has_changes = true;
                if !self.workspace.close(&uri) {
                    return Err(not_open_error(&uri));
                }
            }
            // A saved file may be part of a configuration under another path, or may be the program of a hook.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspace.invalidate();
                self.has_changes = true;
            }
            "workspace/didChangeConfiguration" => {
                let DidChangeConfigurationParams { settings } = parse(method, params)?;
                if let Some(section) = settings.get(SETTINGS_SECTION).filter(|section| !section.is_null()) {
                    let settings = self.read_settings(section.clone()).map_err(|text| {
                        RequestError::new(ErrorCode::InvalidParams, format!("{SETTINGS_SECTION}: {text}"))
                    })?;
                    self.workspace.set_settings(settings);
                    self.has_changes = true;
                }
            }
            // Other notifications need no action: initialized, $/cancelRequest of an answered request, $/setTrace.
            _ => {}
        }
        Ok(())
    }

    fn mark_changed(&mut self, uri: &Uri) {
        self.changed.insert(uri.as_str().to_owned());
        self.has_changes = true;
    }
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(lsp_types::TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(lsp_types::TextDocumentSyncSaveOptions::Supported(true)),
            ..lsp_types::TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["$", "(", ":", "."].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
            ..CodeActionOptions::default()
        })),
        ..ServerCapabilities::default()
    }
}

/// Returns the request that a message cancels.
fn cancelled_request(message: &Message) -> Option<RequestId> {
    match message {
        Message::Notification(Notification { method, params }) if method == "$/cancelRequest" => {
            serde_json::from_value(params.get("id")?.clone()).ok()
        }
        _ => None,
    }
}

fn open_document<'w>(workspace: &'w Workspace, uri: &Uri) -> Result<&'w Document, RequestError> {
    workspace.documents().get(uri).ok_or_else(|| not_open_error(uri))
}

fn not_open_error(uri: &Uri) -> RequestError {
    RequestError::new(ErrorCode::InvalidParams, format!("the document is not open: {}", uri.as_str()))
}

fn parse<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, RequestError> {
    serde_json::from_value(params)
        .map_err(|error| RequestError::new(ErrorCode::InvalidParams, format!("{method}: {error}")))
}

fn to_value<T: Serialize>(result: T) -> Answer {
    serde_json::to_value(result)
        .map_err(|error| RequestError::new(ErrorCode::InternalError, error.to_string()))
}

fn error_response(id: RequestId, code: ErrorCode, message: String) -> Message {
    Message::Response(Response::new_err(id, code as i32, message))
}

fn show_message(message: String) -> Message {
    let params = ShowMessageParams { typ: MessageType::ERROR, message };
    Message::Notification(Notification::new("window/showMessage".to_owned(), params))
}

fn diagnostics_message(uri: Uri, diagnostics: Vec<Diagnostic>, version: Option<i32>) -> Message {
    let params = PublishDiagnosticsParams { uri, diagnostics, version };
    Message::Notification(Notification::new("textDocument/publishDiagnostics".to_owned(), params))
}
