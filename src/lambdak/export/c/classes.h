
/* The classes in their order, and the position of the one that is predicted, from the raw scores of a row. */
enum { MODEL_CLASSES = @classes@ };
extern const char *const model_labels[MODEL_CLASSES];
int model_class_of(const double *raw);
