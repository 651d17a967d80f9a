// The editor of the site's pages: CodeMirror 6 for Python. `.ci/bundle_editor.sh` makes one file of it.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const LEAVE_MS = 60_000; // how long Tab leaves the editor after Escape, if no other key is pressed
const HELP = "Tab indents. To leave the editor by keyboard, press Escape, then Tab.";

// Colours have 4.5:1 on both grounds; what stands for a word is told by more than its colour.
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "light-dark(#7a1fa2, #d7a8ff)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "light-dark(#0b6b35, #8fe0a8)" },
  { tag: [tags.number, tags.bool, tags.null], color: "light-dark(#0b57b0, #9cc7ff)" },
  { tag: [tags.comment, tags.docComment], color: "light-dark(#5a6270, #a7b0bc)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: "light-dark(#7d4a00, #f3cf80)" },
  { tag: tags.invalid, textDecoration: "underline wavy" },
]);

const EDGE = "color-mix(in srgb, currentColor 58%, transparent)";
const look = EditorView.theme({
  "&": { border: `1px solid ${EDGE}`, borderRadius: "4px", background: "light-dark(#fff, #15181c)", color: "light-dark(#1d2126, #e7eaee)" },
  "&.cm-focused": { outline: "3px solid light-dark(#1160c4, #b4d6ff)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace', fontSize: "14px", lineHeight: "1.5" },
  ".cm-content": { caretColor: "light-dark(#000, #fff)", minHeight: "6em", padding: "6px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "light-dark(#000, #fff)" },
  ".cm-gutters": { background: "light-dark(#f5f6f8, #1b1f24)", color: "light-dark(#5a6270, #a7b0bc)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "light-dark(#1160c40d, #b4d6ff14)" },
  "& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "light-dark(#c9dcf7, #2b4a70)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "light-dark(#b3d0fb, #34598a)" },
  "&.cm-focused .cm-matchingBracket": { background: "light-dark(#cdeed8, #1f5135)", outline: `1px solid ${EDGE}` },
  "&.cm-focused .cm-nonmatchingBracket": { background: "light-dark(#ffd9d6, #6d1f1a)", outline: `1px solid ${EDGE}` },
  ".cm-marked": { background: "light-dark(#ffe1de, #54211d)", boxShadow: "inset 4px 0 light-dark(#b3261e, #ff8a80)" },
});

// A line that something is wrong with, until the text is changed.
const markLine = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    if (transaction.docChanged) return Decoration.none;
    for (const effect of transaction.effects) {
      if (!effect.is(markLine)) continue;
      const builder = new RangeSetBuilder();
      if (effect.value > 0 && effect.value <= transaction.state.doc.lines) {
        builder.add(...Array(2).fill(transaction.state.doc.line(effect.value).from), Decoration.line({ class: "cm-marked" }));
      }
      return builder.finish();
    }
    return marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function leaveByTab(view) {
  view.setTabFocusMode(LEAVE_MS);
  return true;
}

// Put an editor in the place of a textarea, which stays in the page, hidden, with the same text in it.
// change(text) is called whenever a person has changed the text. run: what Shift+Enter does, runWords: that in words,
// such as "runs it". The label of the textarea names the editor.
export function editorFor(area, change = () => {}, { run, runWords } = {}) {
  const label = area.labels?.[0];
  const help = document.createElement("p");
  help.className = "editor-help";
  help.id = `${area.id}-help`;
  help.textContent = run ? `${HELP} Shift+Enter ${runWords}.` : HELP;
  const extensions = [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    pythonLanguage,
    indentUnit.of("    "),
    EditorState.tabSize.of(4),
    syntaxHighlighting(colours),
    look,
    marked,
    keymap.of(run ? [{ key: "Shift-Enter", run: () => (run(), true) }] : []),
    keymap.of([{ key: "Escape", run: leaveByTab }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({
      "aria-label": label?.textContent.trim() || area.getAttribute("aria-label") || "Python",
      "aria-describedby": help.id,
      spellcheck: "false",
      autocapitalize: "off",
      tabindex: "0",
    }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      area.value = update.state.doc.toString();
      if (!update.transactions.some((one) => one.isUserEvent("page"))) change(area.value);
    }),
  ];
  const view = new EditorView({ doc: area.value, extensions });
  const focused = document.activeElement === area;
  area.hidden = true;
  area.after(view.dom, help);
  if (focused) view.focus();
  label?.addEventListener("click", () => view.focus());
  return {
    get text() { return view.state.doc.toString(); },
    // The page's own change: it can be undone like any other.
    set text(text) {
      if (text === this.text) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "page" });
    },
    focus() { view.focus(); },
    // Mark a line until the text is changed; 0 takes the mark away.
    mark(line) { view.dispatch({ effects: markLine.of(line) }); },
    // Put the cursor at the end of a line.
    show(line) {
      const place = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: place.to }, effects: EditorView.scrollIntoView(place.from, { y: "center" }) });
      view.focus();
    },
  };
}
