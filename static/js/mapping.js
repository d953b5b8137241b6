// The mapping page: only what the chosen shape of a table needs is shown. Without this script
// everything is, and what a shape does not need is passed over.
const form = document.querySelector("[data-mapping-form]");
const shape = form?.querySelector("#id_shape");

function show() {
  for (const part of form.querySelectorAll("[data-shapes]")) {
    part.hidden = !part.dataset.shapes.split(" ").includes(shape.value);
  }
}

if (shape) {
  shape.addEventListener("change", show);
  show();
}
